import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Tasks that send, beside dispatches of the other form, with a task that is cancelled at some time.
  static let sends = Scenario(
    name: "sends", summary: "a task has its turn in a lane among all forms, and gives it up"
  ) { dispatcher, simulation in
    let inLane = InFlight()
    let store = dispatcher.makeJournal("journal") { inLane.note($0) }
    let applied = dispatcher.register(
      store: JournalStore(identifier: "applied", reducer: ApplyingReducer { inLane.note($0) }))
    let outcome = Shared<StoreOutcome?>(nil)
    let mode = Dispatcher.Mode.serial(lane: "a")
    async let cancelled: Void = dispatcher.cancelAtSomeTime {
      let result = await store.send(Entry.slow(41), mode: mode)
      outcome.with { $0 = result["journal"] }
    }
    async let suspended: Void = {
      dispatcher.queue.isSuspended = true
      try? await simulation.delay(upTo: .seconds(1))
      dispatcher.queue.isSuspended = false
    }()
    await concurrently(1...3) { producer in
      dispatcher.dispatch(
        storeIdentifier: "journal", action: Entry.work(producer * 10 + 1), mode: mode)
      await store.send(producer == 2 ? Entry.slow(22) : Entry.work(producer * 10 + 2), mode: mode)
      await applied.send(Entry.note(producer), mode: mode)
      await store.send(Entry.note(producer * 10 + 3), mode: mode)
      await applied.send(Entry.note(producer), mode: mode)
    }
    _ = await (cancelled, suspended)
    await store.send(Entry.note(50), mode: mode)
    try check(applied.model.entries.sorted() == [1, 1, 2, 2, 3, 3], "\(applied.model.entries)")
    let entries = store.model.entries
    try check(inLane.most <= 1, "two actions of the lane ran at once")
    let own = [11, 12, 13, 21, 22, 23, 31, 32, 33]
    try check(entries.filter { $0 != 41 }.sorted() == own + [50], "\(entries)")
    try checkOrder(entries)
    let hasRun = entries.contains(41)
    try check(outcome.now?.isFinished == hasRun, "\(entries): \(String(describing: outcome.now))")
    try check(hasRun || outcome.now?.isCancelled == true, "\(String(describing: outcome.now))")
  }

  /// A task that sends to two stores with a time limit, and is cancelled while their blocks sleep or before.
  static let limitedSends = Scenario(
    name: "limited-sends", summary: "a cancelled task cancels all blocks of its limited dispatch"
  ) { dispatcher, _ in
    let identifiers = ["first", "second"]
    for identifier in identifiers { _ = dispatcher.makeJournal(identifier) }
    let limit = DispatchOptions.timeout(.seconds(60))
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a")]
    let results = Shared([DispatchResult]())
    await dispatcher.cancelAtSomeTime {
      await concurrently(modes.enumerated()) { number, mode in
        results.append(await dispatcher.send(Entry.hold(number), mode: mode, options: limit).result)
      }
    }
    try check(results.now.count == modes.count, "\(results.now)")
    for result in results.now {
      let areCancelled = identifiers.allSatisfy { result[$0].isCancelled }
      try check(areCancelled, "a dispatch of the cancelled tasks ended as \(result)")
    }
    for mode in modes {
      let next = await dispatcher.send(Entry.note(4), mode: mode).result
      try check(next.isSuccess, "the next dispatch ended as \(next)")
    }
  }
}

/// Applies its actions, for which a task needs no record before the commit.
private final class ApplyingReducer: Reducer<Journal, Entry> {
  private let inside: @Sendable (Int) -> Void

  init(inside: @escaping @Sendable (Int) -> Void) {
    self.inside = inside
  }

  override func apply(_ action: Entry, to store: JournalStore) {
    inside(action.number)
    _ = store.model
    _ = store.version
    inside(-action.number)
    store.updateModel { $0.entries.append(action.number) }
  }
}
