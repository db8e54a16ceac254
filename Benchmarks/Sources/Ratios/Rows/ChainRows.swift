import BenchmarkSupport
import Dispatch
import DispatchStore

/// Chains: each link begins where the one before it ended.
enum ChainRows {
  static let all = [sameLane]

  /// Each dispatch's completion dispatches the next plain reduction to the lane it runs on.
  ///
  /// The floor is a serial `DispatchQueue` on which each closure makes the same reduction under a lock
  /// and then adds the next closure. Either side's first link is begun by a thread that then waits.
  static let sameLane = Row(
    "chained by completion, same lane", floor: "closures on a serial DispatchQueue",
    bound: .times(1.5)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let counter = LockedCounter()
    let queue = Floors.dispatchQueue()
    let dispatcher = fixture.dispatcher
    return Rounds.alternate(rounds, count: 20_000) { count in
      let chain = Chain(count) { chain, left in
        queue.async {
          counter.reduce(Add(left))
          chain.next()
        }
      }
      chain.run()
    } subject: { count in
      let chain = Chain(count) { chain, left in
        dispatcher.dispatch(action: Add(left), mode: .serial) { chain.next() }
      }
      chain.run()
    }
  }
}
