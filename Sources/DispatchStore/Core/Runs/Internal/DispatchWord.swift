/// The life of a dispatch in one word.
///
/// It holds the phase while no other thread takes part, and later the details, which hold the state.
struct DispatchWord {
  /// A phase, or an object's address, whose low bits are free.
  let bits: UInt

  init(bits: UInt) {
    self.bits = bits
  }

  init(_ details: Unmanaged<DispatchDetails>) {
    bits = UInt(bitPattern: details.toOpaque())
    assert(
      bits & Self.phaseBits == 0, "An object's address has fewer free bits than the word needs.")
  }

  /// A dispatch that is queued or being made.
  ///
  /// Can become running.
  static let waiting = DispatchWord(bits: 1)
  /// A dispatch whose step runs.
  ///
  /// Afterwards the record is reused, or ends with details.
  static let running = DispatchWord(bits: 2)

  private static let phaseBits: UInt = 3

  var isRunning: Bool { bits == Self.running.bits }

  @inline(__always)
  var details: Unmanaged<DispatchDetails>? {
    guard bits & Self.phaseBits == 0 else { return nil }
    return UnsafeRawPointer(bitPattern: bits).map(Unmanaged.fromOpaque)
  }
}
