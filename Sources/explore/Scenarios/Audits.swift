import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// A store that keeps what became of the others, in dispatches that are cancelled at some time.
  static let audits = Scenario(
    name: "audits", summary: "once a store has started, those that run regardless run"
  ) { dispatcher, simulation in
    let begun = Shared(Set<Int>())
    _ = dispatcher.makeJournal("work") { number in begun.with { _ = $0.insert(abs(number)) } }
    let audit = dispatcher.makeJournal(
      "audit", waitFor: WaitFor(["work"], runsRegardless: true))
    let plain = dispatcher.makePlainJournal(
      "plain audit", waitFor: WaitFor(["work"], runsRegardless: true))
    let handles = [
      dispatcher.dispatch(action: Entry.slow(1), mode: .serial),
      dispatcher.dispatch(action: Entry.work(2), mode: .serial),
      dispatcher.dispatch(action: Entry.slow(3)),
      dispatcher.dispatch(action: Entry.work(4)),
    ]
    for handle in handles { simulation.atSomeTime { handle.cancel() } }
    for (number, result) in zip(1..., await handles.results) {
      // A dispatch that was cancelled before its start leaves nothing behind. If the operation was made, and
      // cancelled before it ran, it counts as started.
      let hasBegun = begun.now.contains(number)
      for store in [audit, plain] {
        let hasRun = store.model.entries.contains(number)
        try check(hasRun || !hasBegun, "\(store.identifier) missed \(number): \(result)")
        try check(
          hasRun == (result[store.identifier].isFinished == true),
          "\(store.identifier) of \(number): \(result)")
      }
      try check(
        audit.model.entries.contains(number) == plain.model.entries.contains(number),
        "only one of the audits has \(number): \(result)")
    }
  }
}
