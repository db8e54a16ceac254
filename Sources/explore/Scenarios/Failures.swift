import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Stores that fail, stores that wait for them, and a reducer that refines `waitFor`.
  static let failures = Scenario(
    name: "failures",
    summary: "a store that waits for one that failed fails, unless it runs regardless"
  ) { dispatcher in
    dispatcher.queue.maxConcurrentOperationCount = 1 + (dispatcher.simulation?.draw(below: 3) ?? 0)
    let journal = dispatcher.makeJournal("journal")
    let near = dispatcher.makePlainJournal("near", waitFor: ["journal"])
    let far = dispatcher.makeJournal("far", waitFor: ["near"])
    let regardless = dispatcher.makePlainJournal(
      "regardless", waitFor: WaitFor(["near", "refined"], runsRegardless: true))
    let refined = dispatcher.register(
      store: Store(identifier: "refined", reducer: RefiningReducer()), waitFor: ["far"])
    let actions: [Entry] = [.fail(1), .work(2), .fail(3), .slow(4), .fail(5), .work(6)]
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync, .mainThread, .serial, .async]
    let completions = Shared([Int: Int]())
    let pairs = await concurrently(zip(actions, modes)) { action, mode in
      let handle = dispatcher.dispatch(action: action, mode: mode) {
        completions.with { $0[action.number, default: 0] += 1 }
      }
      if action.number == 6 { dispatcher.simulation?.atSomeTime { handle.cancel() } }
      return (action.number, await handle.result)
    }
    let results = Dictionary(uniqueKeysWithValues: pairs)
    let stores = [journal, near, far, regardless, refined]
    for action in actions {
      let (number, result) = (action.number, results[action.number]!)
      for store in stores {
        let count = store.model.entries.filter { $0 == number }.count
        let isFinished = result[store.identifier].isFinished == true
        try check(count == (isFinished ? 1 : 0), "\(store.identifier): \(count), \(result)")
      }
      guard number != 6 else { continue }
      let fails = if case .fail = action { true } else { false }
      try check(result["journal"].isFinished == !fails, "\(result)")
      try check(result["near"].isFinished == !fails, "\(result)")
      try check(result["far"].isFinished == !fails, "\(result)")
      try check(result["regardless"].isFinished == true, "\(result)")
      // For odd numbers that store waits for no other.
      try check(result["refined"].isFinished == true, "\(result)")
    }
    try check(completions.now == [1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1], "\(completions.now)")
  }
}

/// Waits for no store if the action's number is odd.
final class RefiningReducer: Reducer<Journal, Entry> {
  override func reduce(into model: inout Journal, action: Entry) {
    model.entries.append(action.number)
  }

  override func waitFor(
    for action: Entry, in store: Store<Journal, Entry>, declared: WaitFor
  ) -> WaitFor {
    action.number.isMultiple(of: 2) ? declared : []
  }
}
