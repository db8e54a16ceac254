import DispatchStore

extension Scenario {
  /// Commits of three tasks, and an observer that dispatches.
  static let observers = Scenario(
    name: "observers", summary: "each commit is delivered once, in order, before its dispatch ends"
  ) { dispatcher, _ in
    let store = dispatcher.makePlainJournal("journal")
    let other = dispatcher.makePlainJournal("other", of: Echo.self)
    let delivered = Shared([UInt64]())
    let echoes = Shared([UInt64]())
    let late = Shared([Int]())
    let tokens = [
      store.observe(.model) { change in
        delivered.append(change.version)
        let number = change.value.entries.last ?? 0
        dispatcher.dispatch(action: Echo(number), mode: .sync) {
          let version = other.model.entries.firstIndex(of: number).map { UInt64($0 + 1) }
          if !echoes.now.contains(version ?? 0) { late.append(number) }
        }
      },
      other.observe(.model) { change in
        echoes.append(change.version)
        if change.value.entries.last == 2 { store.updateModel { $0.entries.append(9) } }
      },
    ]
    await concurrently(1...3) { number in
      dispatcher.dispatch(action: Echo(10 + number), mode: .sync)
      let mode: Dispatcher.Mode = number == 3 ? .async : .sync
      _ = await dispatcher.dispatch(action: Entry.note(number), mode: mode).result
      let version = store.model.entries.firstIndex(of: number).map { UInt64($0 + 1) }
      if !delivered.now.contains(version ?? 0) { late.append(number) }
    }
    let entries = store.model.entries
    try check(entries.sorted() == [1, 2, 3, 9], "\(entries)")
    try check(delivered.now == [1, 2, 3, 4], "delivered \(delivered.now)")
    try check(echoes.now == [1, 2, 3, 4, 5, 6, 7], "echoes \(echoes.now)")
    try check(late.now.isEmpty, "\(late.now) had ended before their commit was delivered")
    for token in tokens { token.cancel() }
    _ = await dispatcher.dispatch(action: Entry.note(5), mode: .serial).result
    try check(delivered.now.count == 4, "delivered after the observer was cancelled")
  }
}
