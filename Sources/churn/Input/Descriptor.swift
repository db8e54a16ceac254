import Foundation

/// A file descriptor that is closed with its last reference.
final class Descriptor: Sendable {
  let number: Int32
  private let isOwned: Bool

  static let standardInput = Descriptor(0, isOwned: false)

  init(_ number: Int32, isOwned: Bool = true) {
    self.number = number
    self.isOwned = isOwned
  }

  deinit {
    if isOwned { close(number) }
  }

  static func reading(_ path: String) throws(SystemError) -> Descriptor {
    Descriptor(try retrying { open(path, O_RDONLY | O_CLOEXEC) })
  }

  /// Opens a file that is to be written from its beginning; created if there is none, and unchanged until `truncate`.
  static func writing(_ path: String) throws(SystemError) -> Descriptor {
    Descriptor(try retrying { open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666) })
  }

  /// A new file without a name, which the system removes when the program ends, however it ends.
  static func temporary(in directory: String) throws(SystemError) -> Descriptor {
    var template = Array("\(directory)/churn-XXXXXX".utf8CString)
    let descriptor = Descriptor(try retrying { mkstemp(&template) })
    unlink(template)
    _ = fcntl(descriptor.number, F_SETFD, FD_CLOEXEC)
    return descriptor
  }

  /// Reads the available bytes, up to the buffer's length.
  ///
  /// Zero means the end.
  func read(into buffer: inout [UInt8]) throws(SystemError) -> Int {
    try Self.retrying {
      buffer.withUnsafeMutableBytes { Foundation.read(number, $0.baseAddress, $0.count) }
    }
  }

  /// Reads at `offset`, which other readers of the same file do not move.
  func read(into buffer: inout [UInt8], at offset: Int) throws(SystemError) -> Int {
    try Self.retrying {
      buffer.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, off_t(offset)) }
    }
  }

  func write(_ span: Span<UInt8>) throws(SystemError) {
    try span.withUnsafeBufferPointer { (bytes) throws(SystemError) in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let written = try Self.retrying {
          Foundation.write(number, rest.baseAddress, rest.count)
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
    }
  }

  /// Empties a file; a pipe or a device has nothing to empty.
  func truncate() throws(SystemError) {
    guard isRegularFile else { return }
    _ = try Self.retrying { ftruncate(number, 0) }
  }

  /// Whether both are the same file, so that writing one would replace the bytes that the other reads.
  func isSameFile(as other: Descriptor) -> Bool {
    let (one, another) = (status, other.status)
    return isRegularFile && one.st_dev == another.st_dev && one.st_ino == another.st_ino
  }

  private var isRegularFile: Bool { status.st_mode & S_IFMT == S_IFREG }

  private var status: stat {
    var status = stat()
    fstat(number, &status)
    return status
  }

  /// Repeats a call that a signal interrupted.
  private static func retrying<Result: FixedWidthInteger>(
    _ call: () -> Result
  ) throws(SystemError) -> Result {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw SystemError(code: code) }
    }
  }
}

/// The error of a system call.
struct SystemError: Error, Equatable, CustomStringConvertible {
  let code: Int32

  var description: String { String(cString: strerror(code)) }
}
