import Foundation

/// A destination of text: standard output or standard error, or a test's collection.
protocol TextOutput: Sendable {
  /// Whether the destination is a terminal, on which progress is shown.
  var isTerminal: Bool { get }

  func write(_ text: String) throws(Failure)
}

/// Standard output or standard error.
struct StandardOutput: TextOutput {
  static let output = StandardOutput(descriptor: Descriptor(STDOUT_FILENO, isOwned: false))
  static let error = StandardOutput(descriptor: Descriptor(STDERR_FILENO, isOwned: false))

  fileprivate let descriptor: Descriptor

  var isTerminal: Bool { isatty(descriptor.number) == 1 }

  func write(_ text: String) throws(Failure) {
    let bytes = Array(text.utf8)
    do {
      try descriptor.write(bytes.span)
    } catch {
      throw Failure(.ioError, "cannot write the report: \(error)")
    }
  }
}
