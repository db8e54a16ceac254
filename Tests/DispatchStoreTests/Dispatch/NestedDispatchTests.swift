import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("Nested dispatches", .timeLimit(.minutes(10)))
struct NestedDispatchTests {
  /// Each world runs several times: a thread's first dispatch of an action type takes a longer path.
  @Test func areTheParentsOfWhatTheyDispatchAndOwnWhatTheyCommit() async {
    let faults = await onOwnThread {
      (0..<Load.count(250, long: 20_000)).flatMap { seed in
        let world = NestingWorld(seed: UInt64(seed))
        for round in 0..<6 { world.dispatch(UInt64(seed * 31 + round)) }
        return world.faults().map { "seed \(seed): \($0)" }
      }
    }
    #expect(faults.isEmpty, "\(faults.count) faults, such as \(faults.prefix(3))")
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areTheParentsOfWhatTheyDispatchInATaskToo(_ mode: Dispatcher.Mode) async {
    let dispatcher = makeStage().dispatcher
    for seed in 0..<Load.count(100, long: 2_000) {
      let world = NestingWorld(seed: UInt64(seed))
      let begin = Script.suspends { _ in
        for round in 0..<3 {
          world.dispatch(UInt64(round))
          await Task.yield()
        }
      }
      let handle = dispatcher.dispatch(action: begin, mode: mode)
      _ = await handle.result
      let faults = world.faults(in: handle.dispatchID)
      #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(3))")
    }
  }
}
