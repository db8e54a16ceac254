import DispatchStore

extension Scenario {
  /// Waits inside `.sync` dispatches for lanes that their callers hold.
  static let refusals = Scenario(
    name: "refusals",
    summary: "a wait for a lane that its callers hold is refused, and no other one"
  ) { dispatcher, _ in
    let store = dispatcher.makeJournal("journal")
    let nested = dispatcher.makeStore("nested", of: Nested.self) { $0.operation(in: $1) }
    // All wait for dispatches in the default lane, which the first two hold.
    async let first = dispatcher.dispatch(action: Nested.into(1), mode: .serial).result
    async let second = dispatcher.dispatch(action: Nested.chained(2), mode: .serial).result
    async let third = dispatcher.dispatch(action: Nested.into(3), mode: .serial(lane: "x")).result
    async let fourth = dispatcher.dispatch(action: Nested.into(4), mode: .mainThread).result
    for result in await [first, second, third, fourth] { try check(result.isSuccess, "\(result)") }
    _ = await dispatcher.dispatch(action: Entry.note(5), mode: .serial).result
    try check(nested.model.entries.sorted() == [-2, -1, 3, 4], "\(nested.model.entries): refused")
    try check(store.model.entries.sorted() == [1, 2, 3, 4, 5], "\(store.model.entries)")
  }
}

private enum Nested: ActionType {
  /// Awaits a dispatch in the default lane; notes its number, or the negative one if that is refused.
  case await(Int)
  /// Dispatches an action that waits, by `.sync`.
  case into(Int)
  /// Does so from inside the completion of another dispatch.
  case chained(Int)

  func operation(in store: Store<Journal, Nested>) -> ActionOperation<Journal, Nested> {
    let dispatcher = store.dispatcher!
    switch self {
    case .await(let number):
      return ActionOperation(action: self, store: store) { _, store async in
        let result = await dispatcher.dispatch(action: Entry.work(number), mode: .serial).result
        store.updateModel { $0.entries.append(result.isSuccess ? number : -number) }
      }
    case .into(let number):
      return ActionOperation(action: self, store: store) { _, _ in
        _ = dispatcher.dispatch(action: Nested.await(number), mode: .sync)
      }
    case .chained(let number):
      return ActionOperation(action: self, store: store) { _, _ in
        _ = dispatcher.dispatch(actions: [], mode: .sync) {
          dispatcher.dispatch(action: Nested.await(number), mode: .sync)
        }
      }
    }
  }
}
