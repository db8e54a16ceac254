import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Tasks that send, beside dispatches of the other form, with a task that is cancelled at some time.
  static let sends = Scenario(
    name: "sends", summary: "a task has its turn in a lane among all forms, and gives it up"
  ) { dispatcher in
    let inLane = InFlight()
    let store = dispatcher.makeJournal("journal") { inLane.note($0) }
    let applied = dispatcher.register(
      store: JournalStore(identifier: "applied", reducer: ApplyingReducer { inLane.note($0) }))
    let outcome = Shared<StoreOutcome?>(nil)
    let mode = Dispatcher.Mode.serial(lane: "a")
    await withTaskGroup { group in
      for producer in 1...3 {
        group.addTask {
          dispatcher.dispatch(
            storeIdentifier: "journal", action: Entry.work(producer * 10 + 1), mode: mode)
          await store.send(
            producer == 2 ? Entry.slow(22) : Entry.work(producer * 10 + 2), mode: mode)
          await applied.send(Entry.note(producer), mode: mode)
          await store.send(Entry.note(producer * 10 + 3), mode: mode)
          await applied.send(Entry.note(producer), mode: mode)
        }
      }
      group.addTask {
        await dispatcher.cancelAtSomeTime {
          let result = await store.send(Entry.slow(41), mode: mode)
          outcome.with { $0 = result["journal"] }
        }
      }
      group.addTask {
        dispatcher.queue.isSuspended = true
        try? await dispatcher.simulation?.delay(upTo: .seconds(1))
        dispatcher.queue.isSuspended = false
      }
    }
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
  ) { dispatcher in
    let identifiers = ["first", "second"]
    for identifier in identifiers { _ = dispatcher.makeJournal(identifier) }
    let limit = DispatchOptions.timeout(.seconds(60))
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a")]
    let results = Shared([DispatchResult]())
    await dispatcher.cancelAtSomeTime {
      await concurrently(modes.enumerated()) { number, mode in
        let sent = await dispatcher.send(Entry.hold(number), mode: mode, options: limit)
        results.with { $0.append(sent.result) }
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

  /// Tasks that send from inside what they send, in rings and not.
  static let nestedSends = Scenario(
    name: "nested-sends",
    summary: "what is sent inside a lane that it needs is refused, and no other"
  ) { dispatcher in
    let store = dispatcher.makeJournal("journal")
    let observer = store.observe(.model) { _ in }
    dispatcher.makeStore("outer", of: Sending.self) { action, store in
      ActionOperation(action: action, store: store) { action, store async throws in
        guard let dispatcher = store.dispatcher else { return }
        guard let mode = action.modes.first else {
          return _ = await dispatcher.send(Entry.note(action.number))
        }
        async let result = dispatcher.send(
          Sending(action.number, Array(action.modes.dropFirst())), mode: mode)
        if await result.dispatchError?.code == .wouldDeadlock {
          await dispatcher.send(Entry.note(-action.number))
        } else {
          try await result.get()
        }
      }
    }
    let modes: [Dispatcher.Mode] = [
      .serial(lane: "a"), .serial(lane: "b"), .serial(lane: "c"), .async,
    ]
    // Each but the last two into its own lane, through another one; no two close a ring.
    async let first = dispatcher.send(
      Sending(1, [modes[3], modes[0]]), mode: modes[0])
    async let second = dispatcher.send(Sending(2, [modes[2], modes[1]]), mode: modes[1])
    async let third = dispatcher.send(Sending(3, [modes[3], modes[2]]), mode: modes[3])
    async let fourth = dispatcher.dispatch(action: Sending(4, [modes[0]]), mode: modes[0]).result
    let sent = await [first, second, third].map(\.result)
    for result in await sent + [fourth] { try check(result.isSuccess, "\(result)") }
    await dispatcher.send(Entry.note(5), mode: modes[0])
    try check(store.model.entries.sorted() == [-4, -2, -1, 3, 5], "\(store.model.entries)")
    observer.cancel()
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

/// Sends itself on through modes, and notes its number at the end; the negative one if that is refused.
struct Sending: ActionType {
  let number: Int
  let modes: [Dispatcher.Mode]

  init(_ number: Int, _ modes: [Dispatcher.Mode]) {
    self.number = number
    self.modes = modes
  }
}
