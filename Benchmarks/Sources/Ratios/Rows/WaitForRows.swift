import BenchmarkSupport
import DispatchStore

/// `waitFor`: stores that respond to one action in order.
enum WaitForRows {
  static let all = [chain]

  /// Ten stores respond to the action, each waiting for the one before it, with plain reductions, `.sync`.
  ///
  /// The floor is the same loop with a dispatcher that has one store: what ten stores add is nine
  /// more reductions and the order among them, not nine more dispatches.
  static let chain = Row(
    "`waitFor` chain over 10 stores, `.sync`", floor: "one store", bound: .times(6)
  ) { rounds in
    let one = dispatcher(stores: 1)
    let ten = dispatcher(stores: 10)
    return Rounds.alternate(rounds, count: 5000) { count in
      for index in 0..<count { one.dispatch(action: Add(index), mode: .sync) }
    } subject: { count in
      for index in 0..<count { ten.dispatch(action: Add(index), mode: .sync) }
    }
  }

  private static func dispatcher(stores count: Int) -> Dispatcher {
    let dispatcher = Dispatcher(name: "chain of \(count)")
    var previous: [String] = []
    for _ in 0..<count {
      let store = dispatcher.register(
        store: Store(reducer: PlainReducer()), waitFor: WaitFor(previous))
      previous = [store.identifier]
    }
    return dispatcher
  }
}
