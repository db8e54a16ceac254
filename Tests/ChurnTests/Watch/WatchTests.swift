import Foundation
import Testing

@testable import churn

/// The board while the program runs.
@Suite(.timeLimit(.minutes(10))) struct WatchTests {
  private let folder: TemporaryFolder
  private let log: String

  init() throws {
    folder = try TemporaryFolder()
    log = try folder.write(TestLog.contested(commits: 300).bytes, to: "log")
  }

  private func figures(_ run: TestRun) throws -> [Data] {
    let json = try run.json
    return try Figure.allCases.map {
      try JSONSerialization.data(
        withJSONObject: [json[$0.rawValue]], options: [.sortedKeys, .fragmentsAllowed])
    }
  }

  @Test(arguments: churn.Mode.allCases)
  func linesEndWithTheLastStateAndTheAnswersAreWhatTheyWere(mode: churn.Mode) async throws {
    let arguments = ["--input", log, "--json", "--rounds", "1", "--mode", mode.rawValue]
    let plain = await TestRun(arguments)
    let run = await TestRun(arguments + ["--watch"], clock: TestClock())

    #expect(run.code == .ok)
    #expect(try figures(run) == figures(plain))
    let lines = run.messages.split(separator: "\n")
    #expect(
      lines.allSatisfy { $0.hasPrefix("churn: \(mode): ") && $0.contains(" of 300 commits, ") })
    let last = try #require(lines.last)
    #expect(last.hasPrefix("churn: \(mode): 300 of 300 commits, "))
    let sizes = try #require(try run.json["linesByFile"] as? [String: Any])
    let lineCount = sizes.values.reduce(0) { $0 + ($1 as? Int ?? 0) }
    #expect(last.contains(", \(sizes.count) files, \(Numbers.grouped(lineCount)) lines, "))
  }

  @Test func aTerminalShowsOneBoardForAllReplaysAndThenTheMessages() async throws {
    let messages = CollectedOutput(isTerminal: true)
    let run = await TestRun(
      ["--input", log, "--watch", "--rounds", "2"], messages: messages, clock: TestClock())

    #expect(run.code == .ok)
    let terminal = TestTerminal(run.messages)
    #expect(terminal.unknown.isEmpty)
    #expect(!terminal.cursorIsHidden && terminal.wraps)
    #expect(terminal.lines.first?.hasPrefix("structured, round 2 of 2 ") == true)
    #expect(terminal.lines.first?.hasSuffix(" 300 of 300 commits") == true)
    #expect(terminal.lines.filter { $0.hasPrefix("Commits by author") }.count == 1)
    #expect(terminal.lines.last == "")
    #expect(run.output.contains("Biggest files, lines"))
  }

  @Test(arguments: churn.Mode.allCases)
  func betweenTwoFramesThereIsATenthOfASecond(mode: churn.Mode) async throws {
    let clock = TestClock()
    let output = TimedOutput(clock)
    let board = Board(on: output, clock)
    let batches = try TestLog.contested(commits: 300).batches(capacity: 20)
    for round in 1...2 {
      let observer = WatchedReplay(
        ReplayTitle(mode: mode.rawValue, round: round, rounds: 2), allCommits: 300, on: board)
      _ = try await onOwnThread {
        try DispatchedReplay(mode: mode, inFlight: 16).replay(batches, [observer])
      }
    }

    let times = output.times
    #expect(times.count >= 2)
    for (one, next) in zip(times, times.dropFirst()) { #expect(next - one >= 100_000_000) }
  }

  @Test func anErrorShowsTheCursorAgain() async throws {
    let messages = CollectedOutput(isTerminal: true)
    let run = await TestRun(
      ["--input", log, "--watch", "--follow", "/dev/full"], messages: messages, clock: TestClock())

    #expect(run.code == .ioError)
    let terminal = TestTerminal(run.messages)
    #expect(!terminal.cursorIsHidden)
    #expect(terminal.lines.contains { $0.hasPrefix("churn: cannot write to the file to follow") })
  }
}

/// Keeps the times at which something is written.
private final class TimedOutput: TextOutput, @unchecked Sendable {
  // Unchecked because: `collected` is only touched while `lock` is held.
  private let lock = NSLock()
  private let clock: TestClock
  private var collected: [UInt64] = []

  let isTerminal = false
  let size = TextSize()

  init(_ clock: TestClock) {
    self.clock = clock
  }

  var times: [UInt64] { lock.withLock { collected } }

  func write(_ text: String) {
    lock.withLock { collected.append(clock.now) }
  }
}
