import DispatchStore

extension Scenario {
  /// Waits of all kinds, inside and outside of dispatches; none may hang.
  static let waits = Scenario(
    name: "waits", summary: "a wait ends, or is refused because it could not end"
  ) { dispatcher in
    let store = dispatcher.makeJournal("journal")
    let outer = dispatcher.makeStore("outer", of: Nested.self) { $0.operation(in: $1) }
    let first = dispatcher.dispatch(action: Entry.slow(1), mode: .serial)
    async let synchronous = dispatcher.dispatch(
      action: Entry.slow(2), mode: .sync, options: .after(first)
    ).result
    async let nested = dispatcher.dispatch(action: Nested.sync(3)).result
    async let awaited = dispatcher.dispatch(action: Nested.await(4), mode: .serial(lane: "x"))
      .result
    async let refused = dispatcher.dispatch(action: Nested.await(5), mode: .serial).result
    async let behind = dispatcher.dispatch(action: Nested.after(8)).result
    async let behindToo = dispatcher.dispatch(action: Nested.after(9)).result
    async let blocked = dispatcher.dispatch(action: Nested.sync(6), mode: .mainThread).result
    let results = await [first.result, synchronous, nested, awaited, blocked, behind, behindToo]
    let refusal = await refused
    // The last one in that lane, so all others have run.
    _ = await dispatcher.dispatch(action: Entry.note(7), mode: .serial).result
    for result in results { try check(result.isSuccess, "\(result)") }
    try check(refusal.isSuccess, "\(refusal)")
    // The fifth waits for a dispatch in its own lane, which is refused; that dispatch runs all the same.
    let entries = store.model.entries
    try check(entries.sorted() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9], "\(entries)")
    try check(
      outer.model.entries.sorted() == [-5, 3, 4, 6, 8, 9], "\(outer.model.entries): refused or not")
    try check(entries.firstIndex(of: 1)! < entries.firstIndex(of: 2)!, "2 did not wait for 1")
  }
}

enum Nested: ActionType {
  case sync(Int)
  case await(Int)
  /// `.sync` after another dispatch that needs a thread of the queue.
  case after(Int)

  func operation(in store: Store<Journal, Nested>) -> ActionOperation<Journal, Nested> {
    let dispatcher = store.dispatcher!
    switch self {
    case .sync(let number):
      return ActionOperation(action: self, store: store) { _, store in
        dispatcher.dispatch(action: Entry.slow(number), mode: .sync)
        store.updateModel { $0.entries.append(number) }
      }
    case .after(let number):
      return ActionOperation(action: self, store: store) { _, store in
        let first = dispatcher.dispatch(action: Entry.work(number))
        dispatcher.dispatch(action: Entry.note(number), mode: .sync, options: .after(first))
        store.updateModel { $0.entries.append(number) }
      }
    case .await(let number):
      return ActionOperation(action: self, store: store) { _, store async in
        let handle = dispatcher.dispatch(action: Entry.work(number), mode: .serial)
        let result = await handle.result
        store.updateModel { $0.entries.append(result.isSuccess ? number : -number) }
      }
    }
  }
}
