import BenchmarkSupport
import DispatchStore

/// `.async`: dispatches that run in parallel.
enum AsyncRows {
  static let all = [work]

  /// One thread dispatches, paced by bursts, to a queue of width 2; each operation works for 1 µs
  /// outside the store's lock, and then makes one commit, for which the two contend.
  ///
  /// The floor is half of what the same work takes when one thread does it in a row: two processors
  /// that do nothing else. The dispatching thread needs a processor too, so a ratio of 1 is
  /// impossible.
  static let work = Row(
    "`.async`, real operation, 1 µs work, width 2", floor: "half the work", bound: .times(1.75)
  ) { rounds in
    let fixture = Fixture(WorkReducer(), width: 2)
    let action = Work(iterations: BusyWork.iterations(microseconds: 1))
    return Rounds.alternate(rounds, count: 20 * BurstGate.size) { count in
      for _ in 0..<(count / 2) { BusyWork.run(action.iterations) }
    } subject: { count in
      let dispatcher = fixture.dispatcher
      fixture.gate.produce(count) { _ in dispatcher.dispatch(action: action, mode: .async) }
    }
  }
}
