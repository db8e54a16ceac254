import Foundation
import Testing

@testable import churn

/// What is written to show the board.
@Suite struct BoardScreenTests {
  private func frame(_ commits: Int) -> BoardFrame {
    var frame = BoardFrame(title: ReplayTitle(mode: "sync", round: 1, rounds: 1), allCommits: 9)
    frame.authors.commits = commits
    return frame
  }

  @Test func onATerminalAFrameReplacesTheOneBefore() {
    var screen = BoardScreen(isTerminal: true)
    let sizes = [
      TextSize(columns: 80, rows: 24), TextSize(columns: 80, rows: 9),
      TextSize(columns: 80, rows: 24),
    ]
    var text = "before\n" + screen.opening
    for (index, size) in sizes.enumerated() { text += screen.text(of: frame(index), size: size) }

    let running = TestTerminal(text)
    #expect(running.cursorIsHidden)
    let ended = TestTerminal(text + screen.closing + "after")
    #expect(
      ended.lines == ["before"] + BoardLayout(size: sizes[2]).lines(of: frame(2)) + ["after"])
    #expect(!ended.cursorIsHidden && ended.wraps)
    #expect(ended.unknown.isEmpty)
  }

  @Test func elsewhereEachFrameIsALineAndNothingElse() {
    var screen = BoardScreen(isTerminal: false)
    let text =
      screen.opening + screen.text(of: frame(1), size: TextSize())
      + screen.text(of: frame(2), size: TextSize()) + screen.closing

    let expected = [1, 2].map { "churn: \(BoardLayout.sentence(of: frame($0)))\n" }
    #expect(text == expected.joined())
  }

  /// A test may run on a thread that blocks signals.
  private static func raiseUnblocked(_ number: Int32) {
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    raise(number)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalThatEndsTheProgramShowsTheCursorAgain(number: Int32) async throws {
    let interrupted = try await #require(
      processExitsWith: .signal(number), observing: [\.standardErrorContent]
    ) { [number] in
      Interruption.install()
      Interruption.cursor(isHidden: true)
      Self.raiseUnblocked(number)
    }
    let text = String(decoding: interrupted.standardErrorContent, as: UTF8.self)
    #expect(text.hasSuffix("\u{1B}[?7h\u{1B}[?25h"))
  }

  @Test func aSignalWritesNothingWhereNoCursorIsHidden() async throws {
    let interrupted = try await #require(
      processExitsWith: .signal(SIGINT), observing: [\.standardErrorContent]
    ) {
      Interruption.install()
      Interruption.cursor(isHidden: true)
      Interruption.cursor(isHidden: false)
      Self.raiseUnblocked(SIGINT)
    }
    #expect(!interrupted.standardErrorContent.contains(0x1B))
  }
}
