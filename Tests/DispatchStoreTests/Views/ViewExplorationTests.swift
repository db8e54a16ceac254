import DispatchStore
import DispatchStoreTesting
import Testing

/// Snapshots and groups in seeded orders of threads.
@Suite(.timeLimit(.minutes(10)))
struct ViewExplorationTests {
  @Test func snapshotsAreOfOneInstantInAnyOrder() async throws {
    let seeds: Range<UInt64> = 0..<UInt64(Load.count(200))
    try await explore(seeds: seeds) { dispatcher in
      let (left, right) = (ProbeStore.probe("left"), ProbeStore.probe("right"))
      let writer = dispatcher.register(
        store: ProbeStore(
          identifier: "writer", model: 0,
          reducer: ApplyingReducer { _, _ in
            left.updateModel { $0 += 1 }
            right.updateModel { $0 += 1 }
          }))
      let group = StoreGroup(right, left)
      let calls = Recorder<DispatchID?>()
      let token = group.observe { calls.record($0.dispatchID) }
      let handles = (0..<3).map { _ in writer.dispatch(Ping(), mode: .serial) }
      while true {
        let snapshot = group.snapshot()
        let ahead = snapshot.models.1 - snapshot.models.0
        if ahead != 0 && (ahead != 1 || snapshot.dispatchesUnderWay == []) {
          throw TornSnapshot(models: [snapshot.models.1, snapshot.models.0])
        }
        if snapshot.models.0 == 3 { break }
      }
      for handle in handles { await handle.ended() }
      guard calls.all == handles.map(\.dispatchID) else {
        throw TornSnapshot(models: [calls.count])
      }
      token.cancel()
    }
  }
}

private struct TornSnapshot: Error {
  let models: [Int]
}
