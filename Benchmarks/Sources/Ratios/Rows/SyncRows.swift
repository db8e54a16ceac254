import BenchmarkSupport
import DispatchStore

/// `.sync`: all of a dispatch, on the caller's thread.
enum SyncRows {
  static let all = [plainReduction, operation]

  /// A thread dispatches in a loop; each dispatch has ended when it returns, and its handle is dropped.
  ///
  /// The floor locks an uncontended POSIX mutex, calls the same reducer's virtual method on the same model,
  /// and unlocks the mutex: what any store must do to change its model safely.
  static let plainReduction = Row(
    "`.sync`, plain reduction", floor: "uncontended lock around the reduction", bound: .times(8)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let counter = LockedCounter()
    return Rounds.alternate(rounds, count: 20_000) { count in
      for index in 0..<count { counter.reduce(Add(index)) }
    } subject: { count in
      let dispatcher = fixture.dispatcher
      for index in 0..<count { dispatcher.dispatch(action: Add(index), mode: .sync) }
    }
  }

  /// The same loop, with a reducer that makes an `ActionOperation` whose block makes one commit.
  ///
  /// The floor creates a bare `Operation` and releases it: Foundation's part of the price, which
  /// everything that hands out a real operation pays. It neither starts it nor changes a model.
  static let operation = Row(
    "`.sync`, real operation", floor: "creating an Operation object", bound: .times(2)
  ) { rounds in
    let fixture = Fixture(OperationReducer())
    return Rounds.alternate(rounds, count: 20_000) { count in
      for _ in 0..<count { Floors.createOperation() }
    } subject: { count in
      let dispatcher = fixture.dispatcher
      for index in 0..<count { dispatcher.dispatch(action: Add(index), mode: .sync) }
    }
  }
}
