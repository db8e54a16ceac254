import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// A store is unregistered, and another one of its identifier registered, while actions are under way and a middleware comes
  /// and goes.
  static let unregistering = Scenario(
    name: "unregistering",
    summary: "a dispatch under way keeps the stores and the middlewares that it began with"
  ) { dispatcher, simulation in
    let first = dispatcher.makeJournal("journal")
    let stays = dispatcher.makePlainJournal("stays", waitFor: WaitFor(["journal"]))
    let (staying, passing) = (Bracket(), Bracket())
    dispatcher.register(middleware: staying)
    simulation.startThread { dispatcher.register(middleware: passing) }
    simulation.startThread { dispatcher.unregister(middleware: passing) }
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync]
    async let actions = concurrently(modes.enumerated()) { number, mode in
      await dispatcher.dispatch(action: Entry.work(number + 1), mode: mode).result
    }
    async let second = { @Sendable () -> JournalStore in
      dispatcher.unregister(store: first)
      return dispatcher.makePlainJournal("journal")
    }()
    let (results, replacement) = await (actions, second)
    for result in results { try check(result.isSuccess, "\(result)") }
    let entries = first.model.entries + replacement.model.entries
    try check(Set(entries).count == entries.count, "\(entries): an action ran in both stores")
    try check(stays.model.entries.sorted() == [1, 2, 3], "\(stays.model.entries)")
    for middleware in [staying, passing] {
      try check(middleware.open.now == 0, "\(middleware.open.now) without didDispatch")
    }
  }
}

/// Counts the store runs that have begun and not ended.
final class Bracket: Middleware {
  let open = Shared(0)

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    open.with { $0 += 1 }
    return .pass
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    open.with { $0 -= 1 }
  }
}
