import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches that are cancelled before, while and after they run.
  static let cancellation = Scenario(
    name: "cancellation", summary: "a cancelled dispatch ends once, and its lane runs the next one"
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
    let held = dispatcher.dispatch(action: Entry.hold(6), mode: .serial(lane: "held"))
    let heldToo = dispatcher.dispatch(action: Entry.hold(7))
    dispatcher.simulation?.startThread { held.cancel() }
    dispatcher.simulation?.startThread { heldToo.cancel() }
    let first = dispatch(.work(1))
    let second = dispatch(.slow(2))
    let aside = dispatcher.dispatch(action: Entry.work(5))
    let third = dispatch(.note(3), .after(aside, first))
    let fourth = dispatch(.note(4))
    dispatcher.simulation?.startThread { second.cancel() }
    dispatcher.simulation?.startThread { third.cancel() }
    let results = [
      await first.result, await second.result, await third.result, await fourth.result,
    ]
    for handle in [held, heldToo] {
      let outcome = await handle.result["journal"]
      try check(
        outcome.isCancelled, "an operation that was cancelled did not end as cancelled")
    }
    _ = await aside.result
    try check(results[0].isSuccess && results[3].isSuccess, "the others were not cancelled")
    let entries = store.model.entries
    if let third = entries.firstIndex(of: 3) {
      try check(
        results[2]["journal"].isFinished == true,
        "3 was cancelled before it started, and ran: \(entries)")
      try check(
        entries[..<third].contains(1) && entries[..<third].contains(5),
        "3 did not wait for 1 and 5: \(entries)")
    }
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
