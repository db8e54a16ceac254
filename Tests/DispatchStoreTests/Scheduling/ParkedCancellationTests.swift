import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Cancelled while parked in a lane", .timeLimit(.minutes(10)))
struct ParkedCancellationTests {
  /// A sequence has released its lane by then, which needs a drainer all the same.
  @Test(arguments: [false, true])
  func letsItsLaneGoOn(isSequence: Bool) async throws {
    try await explore(seeds: 0..<UInt64(Load.count(2_000))) { dispatcher in
      let stage = dispatcher.addStage()
      let first = dispatcher.dispatch(action: Script.adds("1"), mode: .async)
      let parked =
        isSequence
        ? dispatcher.dispatch(
          actions: [Script.adds("2"), Script.adds("3")], mode: .serial, options: .after(first))
        : dispatcher.dispatch(action: Script.adds("2"), mode: .serial, options: .after(first))
      dispatcher.simulation?.startThread { parked.cancel() }
      let next = dispatcher.dispatch(action: Script.adds("next"), mode: .serial)
      await parked.ended()
      guard await next.result.isSuccess else { throw StageFright() }
      await dispatcher.dispatch(action: Script.adds("last"), mode: .serial).ended()
      withExtendedLifetime(stage) {}
    }
  }

  /// It may be on its way to be started again, by a drainer that then frees its place.
  @Test func leavesNoStepInALaneThatHasGoneOn() async throws {
    try await explore(seeds: 0..<UInt64(Load.count(2_000))) { dispatcher in
      let stage = dispatcher.addStage()
      let lane = dispatcher.scheduler(of: .serial) as! Lane
      let first = dispatcher.dispatch(action: Script.adds("1"), mode: .async)
      let parked = dispatcher.dispatch(
        action: Script.adds("2"), mode: .serial, options: .after(first))
      dispatcher.simulation?.startThread { parked.cancel() }
      await parked.ended()
      while lane.word.now.activity != .idle { await Task.yield() }
      // The step that ends it may come after its result.
      for _ in 0..<20 { await Task.yield() }
      if lane.state.withLock(\.rest) != .empty { throw StageFright() }
      withExtendedLifetime(stage) {}
    }
  }
}
