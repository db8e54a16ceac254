import Testing

@Suite("Floods", .serialized, .timeLimit(.minutes(10)))
struct FloodTests {
  @Test func aFloodedLaneDelaysAUsersOperationByABatchAtMost() async {
    await FairnessTests.expectABound(for: .usersOperation, in: .lane)
  }

  @Test func aChainOnALaneDelaysAUsersOperationByABatchAtMost() async {
    await FairnessTests.expectABound(for: .usersOperation, in: .chain)
  }

  @Test(arguments: [FairnessTests.Guest.lane, .defaultLane])
  func aFloodedConcurrentQueueDelaysLanesByABatchAtMost(_ guest: FairnessTests.Guest) async {
    await FairnessTests.expectABound(for: guest, in: .async)
  }
}
