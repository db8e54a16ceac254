import DispatchStore

extension Scenario {
  /// Cancelled before, while and after it runs.
  static let cancellation = Scenario(
    name: "cancellation", summary: "a cancelled dispatch ends once, and its lane goes on"
  ) { dispatcher in
    let store = dispatcher.makeJournal("journal")
    _ = dispatcher.makePlainJournal("second", waitFor: WaitFor(["journal"]))
    let completions = Shared([Int: Int]())
    @Sendable func dispatch(
      _ action: Entry, _ options: DispatchOptions = DispatchOptions()
    ) -> DispatchHandle {
      dispatcher.dispatch(action: action, mode: .serial, options: options) {
        completions.with { $0[action.number, default: 0] += 1 }
      }
    }
    let first = dispatch(.work(1))
    let second = dispatch(.slow(2))
    let aside = dispatcher.dispatch(action: Entry.work(5))
    let third = dispatch(.note(3), .after(aside, first))
    let fourth = dispatch(.note(4))
    async let cancelsSecond: Void = second.cancel()
    async let cancelsThird: Void = third.cancel()
    _ = await (cancelsSecond, cancelsThird)
    let results = [await first.result, await second.result, await third.result, await fourth.result]
    _ = await aside.result
    try check(results[0].isSuccess && results[3].isSuccess, "the others were not cancelled")
    let entries = store.model.entries
    for (number, result) in zip([2, 3], results[1...2]) {
      try check(
        result.isSuccess == false || entries.contains(number),
        "\(number) succeeded without having run: \(entries)")
    }
    try check(entries.filter { $0 == 1 || $0 == 4 } == [1, 4], "\(entries)")
    try check(
      (1...4).allSatisfy { completions.now[$0] == 1 },
      "completions ran \(completions.now.sorted { $0.key < $1.key })")
  }
}
