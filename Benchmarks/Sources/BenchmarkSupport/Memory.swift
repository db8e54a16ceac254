private import CMemory

/// What malloc has handed out.
public enum Memory {
  /// The bytes in use, malloc's own headers included; 0 where the C library does not report it.
  public static var allocatedBytes: Int { Int(allocated_bytes()) }
}
