import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Commits in every mode to one observed store, and then a notifier that waits for one of them.
  static let leftChanges = Scenario(
    name: "left-changes",
    summary: "what is left to a notifier is delivered before its dispatch ends, and blocks nothing"
  ) { dispatcher in
    let store = dispatcher.makeJournal("journal")
    let other = dispatcher.register(
      store: Store<Journal, Echo>(identifier: "other", reducer: EchoReducer()))
    let delivered = Shared([UInt64]())
    let late = Shared([Int]())
    let parts = Shared([Int]())
    let token = store.observe(.model) { change in
      other.updateModel { $0.entries.append(0) }
      delivered.with { $0.append(change.version) }
    }
    let part = store.observe(.part(\.entries.count)) { change in
      parts.with { $0.append(change.value) }
    }
    let actions: [(Entry, Dispatcher.Mode)] = [
      (.note(1), .async), (.work(2), .serial), (.slow(3), .serial(lane: "a")),
      (.note(4), .serial(lane: "b")), (.work(5), .mainThread), (.note(6), .sync),
    ]
    await concurrently(actions) { action, mode in
      _ = await dispatcher.dispatch(action: action, mode: mode).result
      let index = store.model.entries.firstIndex(of: action.number)
      if !delivered.now.contains(index.map { UInt64($0 + 1) } ?? 0) {
        late.with { $0.append(action.number) }
      }
    }
    try check(late.now.isEmpty, "\(late.now) had ended before their commit was delivered")
    try check(delivered.now == Array(1...6), "delivered \(delivered.now)")
    try check(parts.now == Array(1...6), "parts \(parts.now)")
    token.cancel()
    part.cancel()

    // Each notifier waits for an action of its store, which others hold back.
    let waited = Shared([Bool]())
    let ring = store.observe(.model) { change in
      let number = change.value.entries.last ?? 0
      guard number < 20 else { return }
      // The completion runs in the wait below, and waits too.
      dispatcher.dispatch(action: Entry.note(number + 40), mode: .sync) {
        let inner = dispatcher.dispatch(action: Echo.of(number), mode: .serial(lane: -number))
        dispatcher.dispatch(action: Echo.of(number), mode: .sync, options: .after(inner))
      }
      let handle = dispatcher.dispatch(
        action: Entry.slow(number + 20), mode: .serial(lane: number))
      dispatcher.dispatch(action: Echo.of(number), mode: .sync, options: .after(handle)) {
        waited.with { $0.append(true) }
      }
    }
    async let first = dispatcher.dispatch(action: Entry.work(11), mode: .serial(lane: "a")).result
    async let second = dispatcher.dispatch(action: Entry.note(12)).result
    async let third = dispatcher.dispatch(action: Entry.slow(13), mode: .serial).result
    for result in await [first, second, third] { try check(result.isSuccess, "\(result)") }
    while waited.now.count < 3 { await Task.yield() }
    let entries = store.model.entries.dropFirst(6).sorted()
    try check(entries == [11, 12, 13, 31, 32, 33, 51, 52, 53], "\(entries)")
    ring.cancel()
  }
}
