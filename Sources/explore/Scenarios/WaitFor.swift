import DispatchStore

extension Scenario {
  /// A diamond: `b` and `c` wait for `a`, `d` for both.
  static let waitFor = Scenario(
    name: "wait-for", summary: "a store's block sees the commits of the stores that it waits for"
  ) { dispatcher in
    let order = Shared([Int: [String]]())
    @Sendable func make(_ name: String, _ stores: [String]) -> JournalStore {
      dispatcher.makeJournal(name, waitFor: WaitFor(stores)) { number in
        order.with { $0[abs(number), default: []].append(number > 0 ? name : "end of \(name)") }
      }
    }
    let stores = [make("d", ["b", "c"]), make("b", ["a"]), make("c", ["a"]), make("a", [])]
    async let first = dispatcher.dispatch(action: Entry.work(1)).result
    async let second = dispatcher.dispatch(action: Entry.slow(2), mode: .serial).result
    async let third = dispatcher.dispatch(action: Entry.work(3), mode: .sync).result
    let results = await [first, second, third]
    for result in results {
      try check(result.isSuccess, "\(result)")
    }
    for (number, steps) in order.now.sorted(by: { $0.key < $1.key }) {
      try check(steps.count == 8, "\(steps) for action \(number)")
      for (store, other) in [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")] {
        try check(
          steps.firstIndex(of: store)! > steps.firstIndex(of: "end of \(other)")!,
          "\(store) did not wait for \(other) in action \(number): \(steps)")
      }
    }
    for store in stores {
      try check(store.model.entries.sorted() == [1, 2, 3], "\(store.model.entries)")
    }
  }
}
