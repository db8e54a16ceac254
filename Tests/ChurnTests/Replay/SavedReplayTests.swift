import DispatchStore
import DispatchStoreTesting
import Testing

@testable import churn

/// A replay that is saved, and goes on where an earlier run has ended.
@Suite(.timeLimit(.minutes(10))) struct SavedReplayTests {
  private let memory = MemoryDatabase()

  private var database: ReplayDatabase {
    ReplayDatabase(name: "churn.db") { [memory] in try await memory.open(for: $0) }
  }

  private func replay(_ mode: Mode, _ batches: EventBatches) async throws -> RunResult {
    let replay = DispatchedReplay(mode: mode, inFlight: 8, database: database)
    return try await onOwnThread { try replay.replay(batches) }
  }

  @Test(arguments: [Mode.serial, .sync], 0..<8)
  func hasTheSameAnswersAfterCrashes(_ mode: Mode, _ crash: Int) async throws {
    let batches = try TestLog.contested(commits: 20).batches(copies: 2, capacity: 16)
    let expected = Answers(try PlainLoop().replay(batches).models)
    // Saving four stores takes four transactions.
    memory.failAtCommit(.crash, number: 4 + crash)
    await #expect(throws: (any Error).self) { _ = try await replay(mode, batches) }
    memory.crash()
    // It may have too few transactions left for another crash.
    memory.failAtCommit(.crash, number: 4 + crash)
    _ = try? await replay(mode, batches)
    memory.removeFaults()
    memory.crash()
    let result = try await replay(mode, batches)
    #expect(Answers(result.models).differences(from: expected).isEmpty)
    #expect(result.models.progresses.map(\.taken).max() == batches.eventCount)

    let again = try await replay(mode, batches)
    #expect(Answers(again.models).differences(from: expected).isEmpty)
    #expect(again.measurement.actions < batches.eventCount)
  }

  @Test(arguments: [Mode.serial, .sync])
  func isWholeIfItEndsAgainBeforeTheFirstCommitDoes(_ mode: Mode) async throws {
    var log = TestLog()
    let entries = (1...40).map { TestLog.Entry("src/\($0)", "A", added: 1) }
    log.addCommit(1, author: TestLog.author, time: "1700000000", entries: entries)
    let batches = try log.batches()
    for count in [30, 10] {
      let middleware = StopAt(count)
      let replay = DispatchedReplay(
        mode: mode, hooks: [Hook(middleware)], database: database, drainLimit: .seconds(1_000))
      let result = try await onOwnThread { try replay.replay(batches, nil, until: middleware.stop) }
      let cut = try #require(result.cut)
      #expect(cut.dispatched == count && result.models.files.changes == 30)
      let title = ReplayTitle(mode: mode.rawValue, round: 1, rounds: 1)
      #expect(CutReplay(title, cut, result.models, of: batches).isWhole)
    }
  }

  @Test func ofAnotherHistoryIsNotGoneOnWith() async throws {
    var other = TestLog()
    other.addCommit(7, .init("src/a", "A", added: 10))
    _ = try await replay(.serial, TestLog.small.batches())
    await expect("'churn.db' holds the replay of another history", of: try other.batches())
    await expect("its copies are 1", of: try TestLog.small.batches(copies: 2))
  }

  @Test func ofAHistoryWhoseLastCommitIsAnotherIsNotGoneOnWith() async throws {
    func history(_ last: Int) throws -> EventBatches {
      var log = TestLog()
      for number in [1, last] { log.addCommit(number, .init("src/a", added: 1)) }
      return try log.batches()
    }
    _ = try await replay(.serial, history(2))
    await expect(
      "it has come to commit \(TestLog.hash(2)), which is not in this one", of: try history(3))
  }

  @Test func ofALongerHistoryIsNotGoneOnWith() async throws {
    var shorter = TestLog()
    shorter.addCommit(1, .init("src/a", "A", added: 10))
    _ = try await replay(.serial, TestLog.small.batches())
    await expect(
      "'churn.db' has come to event 9, and the history has 2", of: try shorter.batches())
  }

  /// Expects that a replay does not begin.
  private func expect(_ message: String, of batches: EventBatches) async {
    do {
      _ = try await replay(.serial, batches)
      Issue.record("It has replayed.")
    } catch {
      let failure = error as? Failure
      #expect(failure?.code == .dataError)
      #expect(failure?.message.contains(message) == true, "\(error)")
    }
  }

  @Test(arguments: [[], [0], [0x25], [0x41, 0xC3, 0xA9], [0x65, 0xCC, 0x81], Array(0...255)])
  func keepsTheBytesOfPathsAndNames(_ bytes: [UInt8]) {
    let name = ByteString(bytes)
    #expect(ByteString.key(ofPersistentText: name.persistentText) == name)
    #expect(name.persistentText.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
    let path = Path(name, copy: 3)
    #expect(Path.key(ofPersistentText: path.persistentText) == path)
  }
}
