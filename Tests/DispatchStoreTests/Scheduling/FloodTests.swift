import Testing

@Suite("Floods", .serialized, .timeLimit(.minutes(5)))
struct FloodTests {
  @Test func aFloodedLaneLetsAUsersOwnOperationHaveItsTurn() async {
    await FairnessTests.expectATurn(for: .usersOperation, in: .lane)
  }

  @Test func aChainThatGoesOnOnItsLaneLetsAUsersOwnOperationHaveItsTurn() async {
    await FairnessTests.expectATurn(for: .usersOperation, in: .chain)
  }

  @Test(arguments: [FairnessTests.Guest.lane, .defaultLane])
  func aFloodedConcurrentQueueLetsLanesHaveTheirTurn(_ guest: FairnessTests.Guest) async {
    await FairnessTests.expectATurn(for: guest, in: .async)
  }
}
