import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// The last reference to a store is released while actions to it are under way.
  static let weakStores = Scenario(
    name: "weak-stores",
    summary: "a released store's run is cancelled, and a running store stays alive"
  ) { dispatcher in
    let inside = Shared([Int]())
    let weak = SimulatedReference(
      JournalStore(
        identifier: "weak",
        reducer: JournalReducer(inside: { number in inside.with { $0.append(number) } })))
    dispatcher.register(store: weak.object!, ownership: .weak)
    let after = dispatcher.makePlainJournal("after", waitFor: ["weak"])
    let regardless = dispatcher.makePlainJournal(
      "regardless", waitFor: WaitFor(["weak"], runsRegardless: true))
    dispatcher.simulation?.startThread { weak.release() }
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync, .mainThread, .serial(lane: "a")]
    let results = await concurrently(modes.enumerated()) { place, mode in
      let number = place + 1
      let action: Entry = number.isMultiple(of: 2) ? .slow(number) : .work(number)
      return (number, await dispatcher.dispatch(action: action, mode: mode).result)
    }
    for (number, result) in results.sorted(by: { $0.0 < $1.0 }) {
      let hasRun = inside.now.contains(number)
      try check(hasRun == inside.now.contains(-number), "\(number) has not ended: \(inside.now)")
      switch result["weak"] {
      case .finished: try check(hasRun, "\(result), and it has not run")
      case .cancelled, .notInvolved: try check(!hasRun, "\(result), and it has run")
      default: throw Broken(description: "\(result)")
      }
      let mayRun = if case .cancelled = result["weak"] { false } else { true }
      try check(result["after"].isFinished == mayRun, "\(result)")
      try check(after.model.entries.contains(number) == mayRun, "\(after.model.entries) \(result)")
      try check(result["regardless"].isFinished == true, "\(result)")
    }
    let all = regardless.model.entries
    try check(all.sorted() == [1, 2, 3, 4, 5], "\(all)")
  }
}
