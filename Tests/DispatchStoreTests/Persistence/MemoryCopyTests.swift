import Testing

@testable import DispatchStore
@testable import DispatchStoreTesting

@Suite("Copies of a database in memory", .timeLimit(.minutes(5)))
struct MemoryCopyTests {
  @Test(arguments: [false, true])
  func succeedsOnceTheTargetIsCommitted(isReplyLost: Bool) async throws {
    let (stage, target) = (try await PersistenceStage(), MemoryDatabase())
    await stage.dispatcher.send(Deposit(account: "a", amount: 5))
    try await stage.persistence.close()
    let source = stage.database
    source.failAtCommit(.inputOutput)
    if isReplyLost { target.failAtCommit(.commitUnknown) }
    try await Persistence.copy(
      from: PersistenceDatabase { MemoryDriver(source) },
      to: PersistenceDatabase { MemoryDriver(target) })
    #expect(target.rows(ofStore: "wallet", part: 1) == ["a": "5"])
  }
}
