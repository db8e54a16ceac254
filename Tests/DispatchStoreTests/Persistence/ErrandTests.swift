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
}
