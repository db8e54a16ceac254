import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// A store is replaced, twice, by another one of its identifier, while actions run.
  static let replacing = Scenario(
    name: "replacing", summary: "a registered store gets each later action once"
  ) { dispatcher in
    let runs = Shared([Int: [Int]]())
    @Sendable func make(_ generation: Int) -> JournalStore {
      JournalStore(
        identifier: "journal",
        reducer: JournalReducer(inside: { number in
          if number > 0 { runs.with { $0[number, default: []].append(generation) } }
        }))
    }
    let latest = Shared(0)
    let store = Shared(dispatcher.register(store: make(0)))
    async let changes: Void = {
      for generation in 1...2 {
        dispatcher.unregister(store: store.now)
        let next = dispatcher.register(store: make(generation))
        store.with { $0 = next }
        latest.with { $0 = generation }
      }
    }()
    let results = await withTaskGroup(of: [(Int, Int, DispatchResult)].self) { group in
      for (producer, mode) in [Dispatcher.Mode.serial, .sync, .async].enumerated() {
        group.addTask {
          var results: [(Int, Int, DispatchResult)] = []
          for turn in 1...3 {
            let (number, least) = ((producer + 1) * 10 + turn, latest.now)
            let identifier = turn == 2 ? "journal" : nil
            let handle = dispatcher.dispatch(
              storeIdentifier: identifier, action: Entry.work(number), mode: mode)
            results.append((number, least, await handle.result))
          }
          return results
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    await changes
    for (number, least, result) in results {
      let generations = runs.now[number] ?? []
      switch result["journal"] {
      case .notInvolved:
        // Between two registrations there is no store.
        try check(generations.isEmpty && least < 2, "\(number): \(generations), \(result)")
      case let outcome:
        try check(outcome.isFinished && generations.count == 1, "\(number): \(generations)")
        try check(generations[0] >= least, "\(number) went to \(generations) after \(least)")
      }
    }
  }
}
