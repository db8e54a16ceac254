import Foundation
import Testing

@testable import churn

/// The whole program, ended by a deadline or a signal.
@Suite(.timeLimit(.minutes(10))) struct EarlyEndTests {
  private let folder: TemporaryFolder
  private let log: String

  init() throws {
    folder = try TemporaryFolder()
    log = try folder.write(TestLog.contested(commits: 300).bytes, to: "log")
  }

  /// Runs the program on a terminal, and requests its end when that has shown this.
  private func run(
    _ arguments: [String], until shown: String, _ reason: Stop.Reason
  ) async -> TestRun {
    let stop = Stop()
    let terminal = CollectedOutput(isTerminal: true) {
      if $0.contains(shown) { stop.request(reason) }
    }
    return await TestRun(["--input", log] + arguments, messages: terminal, stop: stop)
  }

  @Test(
    arguments: [
      (.deadline, "deadline", .temporaryFailure), (.signal(SIGINT), "SIGINT", .interrupted),
      (.signal(SIGTERM), "SIGTERM", .terminated),
    ] as [(Stop.Reason, String, ExitCode)])
  func theReportSaysWhatWasCut(reason: Stop.Reason, name: String, code: ExitCode) async throws {
    let arguments = ["--copies", "8", "--rounds", "2", "--mode", "lanes", "--json"]
    let run = await run(arguments, until: "replaying: lanes, round 2 of 2: ", reason)

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
      .deadline)

    #expect(run.code == .temporaryFailure)
    #expect(run.output.contains("Biggest files, lines"))
    #expect(run.output.contains("\nCut by the deadline\n  serial: "))
    #expect(run.output.contains(" of 2,400 commits, "))
    #expect(run.output.hasSuffix(" changes; all that was dispatched has ended\n"))
    #expect(!run.output.contains("  serial  "))
  }

  @Test(arguments: [true, false])
  func thereAreNoAnswersWhereNotEvenThePlainLoopHasEnded(printsJSON: Bool) async throws {
    let arguments = ["--copies", "8"] + (printsJSON ? ["--json"] : [])
    let run = await run(arguments, until: "replaying: plainLoop", .signal(SIGINT))

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
      until: "replaying: serial: ", .signal(SIGINT))

    #expect(run.code == .interrupted)
    let replay = try #require(try FollowedAnswers(file).replays.last)
    let cut = try #require(try run.json["cut"] as? [String: Any])
    #expect(replay.isComplete && replay.isCut)
    #expect(replay.answers.commits == cut["commits"] as? Int)
    #expect(replay.answers.changes == cut["changes"] as? Int)
  }

  // MARK: While the log is read

  @Test func aDeadlineThatPassesWhileTheLogIsReadEndsTheProgram() async {
    let run = await TestRun("--input", log, "--deadline", "0.000000001")

    #expect(run.code == .temporaryFailure)
    #expect(run.output.isEmpty)
    #expect(run.messages == "churn: the deadline of 1 ns has passed while reading \(log)\n")
  }

  @Test func aSourceThatPrintsNothingIsWaitedForUntilTheDeadline() async throws {
    let path = "\(folder.path)/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    // Its writer, which writes nothing.
    let writer = open(path, O_RDWR)
    defer { close(writer) }

    let run = await TestRun("--input", path, "--deadline", "0.01")

    #expect(run.code == .temporaryFailure)
    #expect(run.messages == "churn: the deadline of 10.0 ms has passed while reading \(path)\n")
  }

  @Test func aDeadlineFarAheadChangesNothing() async throws {
    let plain = await TestRun("--input", log, "--json", "--rounds", "1")
    let run = await TestRun("--input", log, "--json", "--rounds", "1", "--deadline", "100000")

    #expect(run.code == .ok)
    #expect(try run.json["cut"] == nil)
    #expect(try run.json["commits"] as? Int == plain.json["commits"] as? Int)
  }
}
