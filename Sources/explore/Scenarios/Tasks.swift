import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// `async` blocks with child tasks, an actor and sleeps, that are cancelled at some time.
  static let tasks = Scenario(
    name: "tasks", summary: "an async block ends its operation, and child tasks inherit the cause"
  ) { dispatcher in
    let parents = Shared([Int: DispatchID]())
    dispatcher.register(
      middleware: WillHook { dispatch, action, _ in
        if let entry = action as? Entry { parents.with { $0[entry.number] = dispatch.parent } }
        return .pass
      })
    let store = dispatcher.makeStore("errands", of: Errand.self) { action, store in
      ActionOperation(action: action, store: store) { action, store async throws in
        guard case .of(let number) = action, let dispatcher = store.dispatcher else { return }
        let tally = Tally()
        try await dispatcher.simulation?.delay(upTo: .seconds(1))
        async let first = dispatcher.dispatch(action: Entry.note(number * 10 + 1)).result
        async let second: Void = {
          await tally.add()
          dispatcher.dispatch(action: Entry.note(number * 10 + 2), mode: .sync)
        }()
        _ = await (first, second)
        await tally.add()
        try await dispatcher.simulation?.clock.sleep(for: .seconds(1))
        if await tally.count == 2 { store.updateModel { $0.entries.append(number) } }
      }
    }
    let notes = dispatcher.makePlainJournal("notes")
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync, .mainThread]
    let pairs = await concurrently(modes.enumerated()) { place, mode in
      let number = place + 1
      let handle = dispatcher.dispatch(action: Errand.of(number), mode: mode)
      if number != 1 { dispatcher.simulation?.atSomeTime { handle.cancel() } }
      return (number, handle)
    }
    let handles = Dictionary(uniqueKeysWithValues: pairs)
    for number in 1...4 {
      let handle = handles[number]!
      let result = await handle.result
      let outcome = result["errands"]
      let hasRun = store.model.entries.contains(number)
      try check(outcome.isFinished == hasRun, "\(result): \(store.model.entries)")
      try check(hasRun || outcome.isCancelled, "\(result)")
      for child in notes.model.entries where child / 10 == number {
        try check(parents.now[child] == handle.dispatchID, "\(child) has another parent")
      }
      if hasRun {
        let children = notes.model.entries.filter { $0 / 10 == number }
        try check(children.sorted() == [number * 10 + 1, number * 10 + 2], "\(children)")
      }
    }
    try check(store.model.entries.contains(1), "\(store.model.entries)")
  }
}

enum Errand: ActionType {
  case of(Int)
}

/// Counts in an actor.
private actor Tally {
  private(set) var count = 0
  func add() { count += 1 }
}
