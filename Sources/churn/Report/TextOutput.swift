import Foundation

/// A destination of text: standard output or standard error, or a test's collection.
protocol TextOutput: Sendable {
  /// Whether the destination is a terminal, on which progress is shown.
  var isTerminal: Bool { get }

  /// The width of the terminal.
  var columns: Int { get }

  func write(_ text: String) throws(Failure)
}

extension TextOutput {
  var columns: Int { 80 }
}

/// Standard output or standard error.
struct StandardOutput: TextOutput {
  static let output = StandardOutput(descriptor: Descriptor(STDOUT_FILENO, isOwned: false))
  static let error = StandardOutput(descriptor: Descriptor(STDERR_FILENO, isOwned: false))

  fileprivate let descriptor: Descriptor

  var isTerminal: Bool { isatty(descriptor.number) == 1 }

  var columns: Int {
    var size = winsize()
    // Some terminals say that they have none.
    return ioctl(descriptor.number, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
      ? Int(size.ws_col) : 80
  }

  func write(_ text: String) throws(Failure) {
    let bytes = Array(text.utf8)
    do {
      try descriptor.write(bytes.span)
    } catch {
      throw Failure(.ioError, "cannot write the report: \(error)")
    }
  }
}
