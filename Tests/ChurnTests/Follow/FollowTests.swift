import Foundation
import Testing

@testable import churn

/// The file that has the answers while they change.
@Suite(.timeLimit(.minutes(10))) struct FollowTests {
  private let folder: TemporaryFolder
  private let log: String
  private var file: String { "\(folder.path)/answers.jsonl" }

  init() throws {
    folder = try TemporaryFolder()
    var log = TestLog.contested(commits: 300)
    log.addCommit(
      301, author: "Ada", time: "1700000000",
      entries: [
        .init(path: [0x61, 0xFF], status: "A"), .init(path: [0x61, 0xFE], status: "A"),
        .init("brief", "A", added: 1),
      ])
    log.addCommit(302, author: "Ben", time: "1700000001", .init("brief", "D", deleted: 1))
    self.log = try folder.write(log.bytes, to: "log")
  }

  /// The figures as the report has them, each as text.
  private func figures(_ json: [String: Any]) throws -> [Figure: Data] {
    try Dictionary(
      uniqueKeysWithValues: Figure.allCases.map { figure in
        (
          figure,
          try JSONSerialization.data(
            withJSONObject: [try #require(json[figure.rawValue])], options: .sortedKeys)
        )
      })
  }

  private func figures(_ answers: Answers) throws -> [Figure: Data] {
    let findings = Findings(
      title: "", log: LogSummary(), head: nil, answers: answers, verdicts: [])
    let object = try JSONSerialization.jsonObject(
      with: Data(JSONReport(findings: findings).text.utf8))
    return try figures(try #require(object as? [String: Any]))
  }

  @Test(arguments: churn.Mode.allCases, [1, 3])
  func whoeverAppliesTheLinesHasThePrintedAnswers(mode: churn.Mode, copies: Int) async throws {
    let run = await TestRun([
      "--input", log, "--json", "--mode", mode.rawValue, "--follow", file, "--copies", "\(copies)",
      "--producers", "2",
    ])

    #expect(run.code == .ok)
    #expect(run.messages.split(separator: "\n").allSatisfy { $0.contains("takes one producer") })
    let replays = try FollowedAnswers(file).replays
    #expect(replays.map(\.mode) == [mode.rawValue])
    let replay = try #require(replays.first)
    #expect(replay.isComplete)
    #expect(replay.copies == copies)
    let printed = try figures(run.json)
    if mode.keepsOrder {
      #expect(try figures(replay.answers.ofOneCopy(among: copies)) == printed)
    } else if copies == 1 {
      let answers = try figures(replay.answers)
      for figure in Figure.allCases where !figure.dependsOnOrder {
        #expect(answers[figure] == printed[figure], "\(figure)")
      }
    }
  }

  @Test(arguments: churn.Mode.allCases)
  func theLinesOfAReplayGiveTheModelsThatItEndsWith(mode: churn.Mode) async throws {
    let batches = try TestLog.contested(commits: 300).batches(copies: 2, capacity: 50)
    let followed = FollowedReplay(
      ReplayTitle(mode: mode.rawValue, round: 1, rounds: 1), copies: 2,
      to: try FollowedFile(path: file), every: .microseconds(50))

    let result = try await onOwnThread {
      try DispatchedReplay(mode: mode, inFlight: 16, producers: 3).replay(batches, followed)
    }

    #expect(try FollowedAnswers(file).replays.map(\.answers) == [Answers(result.models)])
  }

  @Test func aBatchHasEachKeyOnceWithWhatBecameOfIt() async throws {
    var log = TestLog()
    log.addCommit(1, .init("a", "A", added: 1), .init("b", "A"), .init("c", "A"))
    log.addCommit(2, .init("c", "D"), .init("a", added: 1), .init("a", added: 1))
    log.addCommit(3, .init("a", added: 1), .init("b", "D"), .init("d", "A"))
    let followed = FollowedReplay(
      ReplayTitle(mode: "sync", round: 1, rounds: 1), copies: 1, to: try FollowedFile(path: file),
      every: .seconds(3600))
    // A commit has three changes and its end.
    let batches = try log.batches(capacity: 4) { _, _ in followed.writeBatch() }

    _ = try await onOwnThread {
      try DispatchedReplay(mode: .sync, inFlight: 1).replay(batches, followed)
    }

    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    let files = lines.filter { $0.hasPrefix(#"{"store":"files""#) }.map { line in
      line.split(separator: "\"").filter {
        ["inserted", "changed", "removed", "a", "b", "c", "d"].contains($0)
      }.joined(separator: " ")
    }
    #expect(
      [files.prefix(3), files.dropFirst(3).prefix(2), files.dropFirst(5)].map { $0.sorted() } == [
        ["inserted a", "inserted b", "inserted c"], ["changed a", "removed c"],
        ["changed a", "inserted d", "removed b"],
      ])
  }

  @Test func everyReplayBeginsAnewInTheOrderInWhichTheyAreMade() async throws {
    try folder.write("of an earlier run\n".utf8, to: "answers.jsonl")
    let run = await TestRun("--input", log, "--json", "--follow", file, "--rounds", "2")

    let replays = try FollowedAnswers(file).replays
    let modes = churn.Mode.allCases.map(\.rawValue)
    #expect(replays.map(\.mode) == modes + modes)
    #expect(replays.map(\.round) == modes.map { _ in 1 } + modes.map { _ in 2 })
    let printed = try figures(run.json)
    for replay in replays where replay.mode != "async" {
      #expect(try figures(replay.answers) == printed)
    }
  }
}

/// Files that cannot be followed.
@Suite struct BadFollowTests {
  private let folder: TemporaryFolder
  private let log: String

  init() throws {
    folder = try TemporaryFolder()
    log = try folder.write(TestLog.small.bytes, to: "log")
  }

  private func expectOneLine(_ run: TestRun, _ code: ExitCode, _ message: String) {
    #expect(run.code == code)
    #expect(run.output.isEmpty)
    #expect(run.messages == "churn: \(message)\n")
  }

  @Test func aFolderCannotBeFollowed() async {
    await expectOneLine(
      TestRun("--input", log, "--follow", folder.path), .cannotCreate,
      "cannot make the file to follow, '\(folder.path)': Is a directory")
  }

  @Test func aFileInAFolderThatIsNotThereCannotBeFollowed() async {
    await expectOneLine(
      TestRun("--input", log, "--follow", "\(folder.path)/none/a"), .cannotCreate,
      "cannot make the file to follow, '\(folder.path)/none/a': No such file or directory")
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func aFullDiskEndsTheProgram() async {
    await expectOneLine(
      TestRun("--input", log, "--follow", "/dev/full"), .ioError,
      "cannot write to the file to follow, '/dev/full': No space left on device")
  }

  @Test(arguments: ["--follow", "--record"])
  func theLogThatIsReadIsNotOverwritten(option: String) async throws {
    let log = try folder.write(TestLog.small.bytes, to: "log.jsonl")
    let link = "\(folder.path)/link.jsonl"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: log)
    for name in [log, link] {
      await expectOneLine(
        TestRun("--input", log, option, name), .usage,
        "'\(option)' names the log that is read; name another file")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: log)) == Data(TestLog.small.bytes))
  }

  @Test func theRecordGoesToAnotherFile() async {
    let file = "\(folder.path)/answers.jsonl"
    await expectOneLine(
      TestRun("--input", log, "--follow", file, "--record", file), .usage,
      "'--follow' and '--record' name the same file; name another one")
  }

  @Test func aFileKeepsWhatItHasWhereTheLogCannotBeRead() async throws {
    let kept = try folder.write("kept".utf8, to: "answers.jsonl")
    let empty = try folder.write([], to: "empty")

    let run = await TestRun("--input", empty, "--follow", kept)

    #expect(run.code == .dataError)
    #expect(try String(contentsOfFile: kept, encoding: .utf8) == "kept")
  }
}
