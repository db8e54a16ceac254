/// The board that shows the state of the stores, ten times a second at most, and the last state in any case.
///
/// One replay at a time has it.
final class Board: @unchecked Sendable {
  // Unchecked because: one replay at a time has it; during that, its task alone, until it has ended.
  let clock: any BoardClock
  private let output: any TextOutput
  private var screen: BoardScreen
  private var limiter = RateLimiter(interval: 100_000_000)

  init(on output: any TextOutput, _ clock: any BoardClock) {
    (self.output, self.clock) = (output, clock)
    screen = BoardScreen(isTerminal: output.isTerminal)
    if screen.isTerminal { Interruption.cursor(isHidden: true) }
    write(screen.opening)
  }

  /// Leaves the last frame on the terminal.
  func close() {
    write(screen.closing)
    if screen.isTerminal { Interruption.cursor(isHidden: false) }
  }

  /// Waits until a frame may be shown; no longer than until the calling task is cancelled.
  func waitForNextFrame() async {
    let delay = limiter.delay(at: clock.now)
    if delay > 0 { await clock.sleep(delay) }
  }

  /// Makes a frame, and shows it.
  func show(_ makeFrame: (_ now: UInt64) -> BoardFrame) {
    let start = clock.now
    write(screen.text(of: makeFrame(start), size: output.size))
    limiter.frameWasShown(from: start, to: clock.now)
  }

  private func write(_ text: String) {
    // A report follows, which is worth more than a frame that can't be shown.
    if !text.isEmpty { try? output.write(text) }
  }
}
