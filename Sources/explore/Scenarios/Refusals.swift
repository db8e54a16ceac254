import DispatchStore

extension Scenario {
  /// Waits inside `.sync` dispatches for lanes that their callers hold.
  static let refusals = Scenario(
    name: "refusals",
    summary: "a wait for a lane that its callers hold is refused, and no other one"
  ) { dispatcher in
    let store = dispatcher.makeJournal("journal")
    let inner = dispatcher.makeStore("inner", of: Nested.self) { $0.operation(in: $1) }
    dispatcher.makeStore("deep", of: Deep.self) { $0.operation(in: $1) }
    // Deep actions wait for dispatches in the default lane, which the first two hold.
    async let first = dispatcher.dispatch(action: Deep.into(1), mode: .serial).result
    async let second = dispatcher.dispatch(action: Deep.chained(2), mode: .serial).result
    async let third = dispatcher.dispatch(action: Deep.into(3), mode: .serial(lane: "x")).result
    async let fourth = dispatcher.dispatch(action: Deep.into(4), mode: .mainThread).result
    for result in await [first, second, third, fourth] { try check(result.isSuccess, "\(result)") }
    _ = await dispatcher.dispatch(action: Entry.note(5), mode: .serial).result
    try check(inner.model.entries.sorted() == [-2, -1, 3, 4], "\(inner.model.entries): refused")
    try check(store.model.entries.sorted() == [1, 2, 3, 4, 5], "\(store.model.entries)")
  }
}

enum Deep: ActionType {
  /// Dispatches an action that waits, by `.sync`.
  case into(Int)
  /// Does so from inside the completion of another dispatch.
  case chained(Int)

  func operation(in store: Store<Journal, Deep>) -> ActionOperation<Journal, Deep> {
    ActionOperation(action: self, store: store) { action, store in
      let dispatcher = store.dispatcher!
      switch action {
      case .into(let number):
        dispatcher.dispatch(action: Nested.await(number), mode: .sync)
      case .chained(let number):
        dispatcher.dispatch(actions: [], mode: .sync) {
          dispatcher.dispatch(action: Nested.await(number), mode: .sync)
        }
      }
    }
  }
}
