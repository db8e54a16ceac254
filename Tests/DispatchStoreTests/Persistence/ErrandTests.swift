import Testing

@testable import DispatchStore
@testable import DispatchStoreTesting

@Suite("Errands of a persistence", .timeLimit(.minutes(5)))
struct ErrandTests {
  /// As after a lost connection: the server goes on with the first attempt when the second one has failed, or never.
  @Test(arguments: [true, false])
  func thatIsCommittedLateLeavesTheNextGroupToBeSaved(isCommitted: Bool) async throws {
    let (stage, attempts) = (try await PersistenceStage(), Locked(0))
    let database = stage.database
    database.failAtCommit(.busy)
    var refusal: PersistenceError?
    do {
      let attempt = try await stage.persistence.perform { _ -> Int in
        let attempt = attempts.withLock { count -> Int in
          count += 1
          return count
        }
        if attempt == 1 { return attempt }
        if isCommitted { database.state.change { $0.saved.owner.group += 1 } }
        throw PersistenceError(.statement, "refused")
      }
      #expect(attempt == 1)
    } catch let error as PersistenceError {
      refusal = error
    }
    #expect(refusal?.code == (isCommitted ? nil : .statement))
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 5)).result
    #expect(result.isSuccess)
    #expect(stage.saved == ["a": "5"])
  }

  @Test(arguments: [MemoryDatabase.Fault.busy, .full])
  func ofALogThatPassAreThrownAndHoldUpNoStore(fault: MemoryDatabase.Fault) async throws {
    let (stage, recorder) = (try await PersistenceStage(), DispatchRecorder())
    stage.dispatcher.register(middleware: recorder)
    await stage.dispatcher.send(Deposit(account: "a", amount: 5))
    stage.database.fail(fault)
    let error = await #expect(throws: PersistenceError.self) {
      try await recorder.saveLog(in: stage.persistence, keeping: .seconds(60))
    }
    #expect(error?.isTransient == true)
    #expect(stage.warnings.all.isEmpty)
    let result = await stage.dispatcher.send(Deposit(account: "a", amount: 5)).result
    #expect(result.isSuccess)
    #expect(try await recorder.saveLog(in: stage.persistence, keeping: .seconds(60)) == 0)
  }

  @Test(arguments: [MemoryDatabase.Fault.busy, .full])
  func ofALogAreAwaitedNoLongerThanALimit(fault: MemoryDatabase.Fault) async throws {
    let (stage, recorder) = try await stageWithUnsavedCommit(fault)
    let error = await #expect(throws: DispatchError.self) {
      try await recorder.saveLog(
        in: stage.persistence, keeping: .seconds(60), timeout: .milliseconds(1))
    }
    #expect(error?.code == .timedOut)
    #expect(error?.timeLimit == .milliseconds(1))
    #expect(error?.message.hasPrefix("The log was not saved") == true)
    stage.database.removeFaults()
    let unsaved = try await recorder.saveLog(
      in: stage.persistence, keeping: .seconds(60), timeout: .seconds(60))
    #expect(unsaved == 0)
    #expect(savedEntries(stage) == recorder.log.entries.count)
  }

  @Test func ofALogAreNotAwaitedInACancelledTask() async throws {
    let (stage, recorder) = try await stageWithUnsavedCommit(.busy)
    let saving = Task { try await recorder.saveLog(in: stage.persistence, keeping: .seconds(60)) }
    let reading = Task { try await DispatchLog.saved(in: stage.persistence) }
    saving.cancel()
    reading.cancel()
    await #expect(throws: CancellationError.self) { try await saving.value }
    await #expect(throws: CancellationError.self) { try await reading.value }
    stage.database.removeFaults()
    try await stage.persistence.close()
    // Nothing of it was left to be saved.
    #expect(savedEntries(stage) == 0)
    #expect(stage.saved == ["a": "5"])
  }

  @Test func ofALogThatAreGivenUpOnceTheyHaveBegunSaveItsEntriesOnce() async throws {
    let (stage, recorder) = (try await PersistenceStage(), DispatchRecorder())
    stage.dispatcher.register(middleware: recorder)
    await stage.dispatcher.send(Deposit(account: "a", amount: 5))
    let steps = stage.database.stepCount
    stage.database.hold()
    let saving = Task { try await recorder.saveLog(in: stage.persistence, keeping: .seconds(60)) }
    while stage.database.stepCount == steps { await Task.yield() }
    saving.cancel()
    await #expect(throws: CancellationError.self) { try await saving.value }
    stage.database.release()
    #expect(try await recorder.saveLog(in: stage.persistence, keeping: .seconds(60)) == 0)
    #expect(savedEntries(stage) == recorder.log.entries.count)
  }

  /// A stage whose database is locked or full, with a commit that waits for it.
  private func stageWithUnsavedCommit(
    _ fault: MemoryDatabase.Fault
  ) async throws -> (PersistenceStage, DispatchRecorder) {
    let (stage, recorder) = (try await PersistenceStage(), DispatchRecorder())
    stage.dispatcher.register(middleware: recorder)
    stage.database.fail(fault, count: .max / 2)
    await stage.dispatcher.send(
      Deposit(account: "a", amount: 5), options: .durability(.memory))
    return (stage, recorder)
  }

  /// The number of entries that the table of logs has got.
  private func savedEntries(_ stage: PersistenceStage) -> Int {
    let insertions = stage.database.statements.filter {
      $0.sql.hasPrefix("INSERT INTO dispatch_log")
    }
    return insertions.reduce(0) { $0 + $1.values.count / 5 }
  }
}
