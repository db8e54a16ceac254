/// Shows the present task and its progress on one line of a terminal.
final class ProgressLine: @unchecked Sendable {
  // Unchecked because: only the thread that reads the history calls it.
  private let output: any TextOutput
  private let interval: Duration
  private var shown: (task: String, line: String, at: ContinuousClock.Instant)?

  /// - Parameter interval: The shortest time between two lines of the same task.
  init(on output: any TextOutput, every interval: Duration = .milliseconds(100)) {
    (self.output, self.interval) = (output, interval)
  }

  /// Shows a task, and its progress if that is known.
  func show(_ task: String, done: Int, of all: Int) {
    show(task, all > 0 ? ": \(done * 100 / all)%" : "")
  }

  /// Shows a task, and how far it has come.
  func show(_ task: String, _ detail: String = "") {
    guard output.isTerminal else { return }
    let now = ContinuousClock.now
    if let shown, shown.task == task, shown.at.duration(to: now) < interval { return }
    // What is wider than the terminal would not be erased.
    let line = String("\(task)\(detail)".prefix(output.columns - 1))
    guard line != shown?.line else { return }
    shown = (task, line, now)
    try? output.write("\r\u{1B}[K\(line)")
  }

  /// Clears the line, before other output.
  func clear() {
    guard shown != nil else { return }
    shown = nil
    try? output.write("\r\u{1B}[K")
  }
}
