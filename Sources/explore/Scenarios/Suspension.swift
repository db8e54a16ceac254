import DispatchStore
import Foundation

extension Scenario {
  /// The queue is suspended and resumed, and its width changes.
  static let suspension = Scenario(
    name: "suspension", summary: "a suspended queue stops between actions, and loses nothing"
  ) { dispatcher, _ in
    let running = InFlight()
    let early = Shared(false)
    let store = dispatcher.makeJournal("journal") { running.note($0) }
    async let control: Void = {
      dispatcher.queue.isSuspended = true
      dispatcher.queue.maxConcurrentOperationCount = 1
      dispatcher.dispatch(action: Entry.work(7))
      dispatcher.dispatch(action: Entry.note(8), mode: .serial)
      for _ in 0..<4 { if !store.model.entries.allSatisfy({ $0 < 7 }) { early.with { $0 = true } } }
      dispatcher.queue.isSuspended = false
      dispatcher.queue.maxConcurrentOperationCount = 3
    }()
    await concurrently(1...6) { number in
      let mode: Dispatcher.Mode = number.isMultiple(of: 3) ? .serial : .async
      let action: Entry = number == 4 ? .slow(4) : .work(number)
      _ = await dispatcher.dispatch(action: action, mode: mode).result
    }
    await control
    // The last action in that lane, and in the queue.
    _ = await dispatcher.dispatch(action: Entry.note(9), mode: .serial).result
    let entries = store.model.entries.filter { $0 != 7 }
    try check(!early.now, "an action started while the queue was suspended: \(entries)")
    try check(entries.sorted() == [1, 2, 3, 4, 5, 6, 8, 9], "\(entries)")
    // An `async` block under way does not count in the width.
    try check(running.most <= 4, "\(running.most) at once")
  }
}
