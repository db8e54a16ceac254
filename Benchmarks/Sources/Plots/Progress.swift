import Foundation

/// Shows what is being measured, on a terminal only: the line is written over.
enum Progress {
  static func note(_ message: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    FileHandle.standardError.write(Data("\r\u{1B}[K\(message)".utf8))
  }

  static func clear() {
    note("")
  }
}
