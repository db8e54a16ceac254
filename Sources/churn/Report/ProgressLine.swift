/// Shows the present task and its progress on one line of a terminal.
final class ProgressLine: @unchecked Sendable {
  // Unchecked because: only the thread that reads the history calls it.
  private let output: any TextOutput
  private var shown = ""

  init(on output: any TextOutput) {
    self.output = output
  }

  /// Shows `task`, and its progress if that is known.
  func show(_ task: String, done: Int, of all: Int) {
    show(all > 0 ? "\(task): \(done * 100 / all)%" : task)
  }

  func show(_ line: String) {
    guard output.isTerminal, line != shown else { return }
    shown = line
    try? output.write("\r\u{1B}[K\(line)")
  }

  /// Clears the line, before other output.
  func clear() {
    guard !shown.isEmpty else { return }
    shown = ""
    try? output.write("\r\u{1B}[K")
  }
}
