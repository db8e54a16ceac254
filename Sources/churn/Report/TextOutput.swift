import Foundation

/// A destination of text: standard output or standard error, or a test's collection.
protocol TextOutput: Sendable {
  /// Whether the destination is a terminal, on which progress is shown.
  var isTerminal: Bool { get }

  /// The size of the terminal, if it is one.
  var size: TextSize { get }

  func write(_ text: String) throws(Failure)
}

/// The size of a terminal, in columns and rows of text.
struct TextSize: Equatable, Sendable {
  var columns = 80
  var rows = 24
}

/// Standard output or standard error.
struct StandardOutput: TextOutput {
  static let output = StandardOutput(descriptor: Descriptor(STDOUT_FILENO, isOwned: false))
  static let error = StandardOutput(descriptor: Descriptor(STDERR_FILENO, isOwned: false))

  fileprivate let descriptor: Descriptor

  var isTerminal: Bool { isatty(descriptor.number) == 1 }

  var size: TextSize {
    var window = winsize()
    guard ioctl(descriptor.number, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else {
      return TextSize()
    }
    let rows = window.ws_row > 0 ? Int(window.ws_row) : TextSize().rows
    return TextSize(columns: Int(window.ws_col), rows: rows)
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
