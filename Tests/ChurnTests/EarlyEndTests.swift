import Foundation
import Testing

@testable import churn

/// The whole program, ended by a signal.
@Suite(.timeLimit(.minutes(10))) struct EarlyEndTests {
  private let folder: TemporaryFolder
  private let log: String

  init() throws {
    folder = try TemporaryFolder()
    log = try folder.write(TestLog.contested(commits: 300).bytes, to: "log")
  }

  /// Runs the program on a terminal, and requests its end when that has shown this.
  private func run(
    _ arguments: [String], until shown: String, _ signal: Signal
  ) async -> TestRun {
    let stop = Stop()
    let terminal = CollectedOutput(isTerminal: true) {
      if $0.contains(shown) { stop.request(signal) }
    }
    return await TestRun(["--input", log] + arguments, messages: terminal, stop: stop)
  }

  @Test(
    arguments: [
      (SIGINT, "SIGINT", .interrupted), (SIGTERM, "SIGTERM", .terminated),
    ] as [(Int32, String, ExitCode)])
  func theReportSaysWhatWasCut(number: Int32, name: String, code: ExitCode) async throws {
    let arguments = ["--copies", "8", "--rounds", "2", "--mode", "lanes", "--json"]
    let run = await run(arguments, until: "replaying: lanes, round 2 of 2: ", Signal(number))

    #expect(run.code == code)
    let cut = try #require(try run.json["cut"] as? [String: Any])
    #expect(cut["by"] as? String == name)
    #expect(cut["mode"] as? String == "lanes")
    #expect(cut["round"] as? Int == 2)
    #expect(cut["rounds"] as? Int == 2)
    #expect(cut["unfinished"] as? Int == 0)
    // The progress is shown after the first batch.
    let (commits, changes) = (cut["commits"] as? Int ?? 0, cut["changes"] as? Int ?? 0)
    #expect(commits + changes == 4096)
    #expect(cut["allCommits"] as? Int == 2400)
    let runs = try #require(try run.json["runs"] as? [[String: Any]])
    #expect(runs.map { $0["mode"] as? String } == ["plainLoop", "lanes"])
    #expect(runs.map { $0["rounds"] as? Int } == [2, 1])
    #expect(try run.json["commits"] as? Int == 300)
  }

  @Test func theTextSaysSoToo() async {
    let run = await run(
      ["--copies", "8", "--mode", "serial", "--rounds", "1"], until: "replaying: serial: ",
      Signal(SIGTERM))

    #expect(run.code == .terminated)
    #expect(run.output.contains("Biggest files, lines"))
    #expect(run.output.contains("\nCut by SIGTERM\n  serial: "))
    #expect(run.output.contains(" of 2,400 commits, "))
    #expect(run.output.hasSuffix(" changes; all that was dispatched has ended\n"))
    #expect(!run.output.contains("  serial  "))
  }

  @Test(arguments: [true, false])
  func thereAreNoAnswersWhereNotEvenThePlainLoopHasEnded(printsJSON: Bool) async throws {
    let arguments = ["--copies", "8"] + (printsJSON ? ["--json"] : [])
    let run = await run(arguments, until: "replaying: plainLoop", Signal(SIGINT))

    #expect(run.code == .interrupted)
    if printsJSON {
      let json = try run.json
      #expect(json["commits"] == nil && json["linesByFile"] == nil)
      #expect((json["runs"] as? [Any])?.isEmpty == true)
      #expect((json["cut"] as? [String: Any])?["mode"] as? String == "plainLoop")
    } else {
      #expect(!run.output.contains("Biggest files") && !run.output.contains("Modes"))
      #expect(run.output.contains("Cut by SIGINT\n  plainLoop, round 1 of 3: "))
    }
  }

  @Test func theFollowedFileEndsProperly() async throws {
    let file = "\(folder.path)/answers.jsonl"
    let run = await run(
      ["--copies", "8", "--mode", "serial", "--follow", file, "--json"],
      until: "replaying: serial: ", Signal(SIGINT))

    #expect(run.code == .interrupted)
    let replay = try #require(try FollowedAnswers(file).replays.last)
    let cut = try #require(try run.json["cut"] as? [String: Any])
    #expect(replay.isComplete && replay.isCut)
    #expect(replay.answers.commits == cut["commits"] as? Int)
    #expect(replay.answers.changes == cut["changes"] as? Int)
  }
}
