import DispatchStore

extension Scenario {
  /// Streams of one store, whose subscribers come and go; one of them dispatches to it, and producers wait for that one.
  static let streams = Scenario(
    name: "streams",
    summary: "each subscriber gets the present state, and every change after it, to the last one"
  ) { dispatcher, _ in
    let store = dispatcher.makeJournal("journal")
    let total = 8
    let faults = Shared([String]())
    await withTaskGroup { group in
      let changes = store.stream(.part(\.self), initial: true, buffering: .unbounded)
      group.addTask { await follow(changes, "first", to: total, faults) }
      group.addTask { await comeAndGo(store, to: total, faults) }
      group.addTask { await reachEnd(store.stream(.model, initial: true), to: total, faults) }
      group.addTask { await answer(store, to: total, faults) }
      for number in 1...3 {
        group.addTask {
          let mode: Dispatcher.Mode = [.async, .serial, .serial(lane: "a")][number - 1]
          await store.send(.note(10 * number), mode: mode)
          let handle = store.dispatch(.work(10 * number + 1), mode: mode)
          await follow(changes, "subscriber \(number)", to: total, faults)
          await handle.ended()
        }
      }
      group.addTask {
        for await change in store.stream(
          .part(\.entries.count), initial: true, buffering: .newest(2))
        {
          if change.value == total { return }
        }
      }
    }
    try check(faults.now.isEmpty, "\(faults.now)")
    try check(store.model.entries.count == total, "\(store.model.entries)")
  }

  static let caughtUp = Scenario(
    name: "caught-up",
    summary: "a wait for a stream's consumer ends once that has dealt with all changes so far"
  ) { dispatcher, _ in
    let store = dispatcher.makeJournal("journal")
    let taken = Shared(0)
    let changes = store.stream(.part(\.entries.count), buffering: .suspending(1))
    let seen = await withTaskGroup { group in
      group.addTask { for await change in changes { taken.with { $0 = change.value } } }
      var seen: [Int] = []
      for number in 1...3 {
        await store.send(.note(number), mode: [.async, .serial, .serial(lane: "a")][number - 1])
        await store.streamsCaughtUp()
        seen.append(taken.now)
      }
      group.cancelAll()
      return seen
    }
    try check(seen == [1, 2, 3], "\(seen)")
  }

  /// Takes every change: each follows the one before it.
  @Sendable private static func follow(
    _ changes: StoreStream<Change<Journal, Entry>>, _ name: String, to last: Int,
    _ faults: Shared<[String]>
  ) async {
    var entries: [Int]?
    for await change in changes {
      let isNext = change.old.map { $0.entries == entries ?? $0.entries } ?? true
      let appended = change.value.entries.last
      if !isNext || change.value.entries.count != change.version
        || entries != nil && change.action?.number != appended
      {
        faults.note("\(name) got \(change) after \(entries ?? [])")
      }
      entries = change.value.entries
      if change.version >= last { return }
    }
  }

  /// Subscribes once for each two changes.
  @Sendable private static func comeAndGo(
    _ store: JournalStore, to last: Int, _ faults: Shared<[String]>
  ) async {
    while true {
      var versions: [UInt64] = []
      for await change in store.stream(.part(\.entries.count), initial: true, buffering: .unbounded)
      {
        if change.version != versions.last.map({ $0 + 1 }) ?? change.version {
          faults.note("\(change.version) came after \(versions)")
        }
        versions.append(change.version)
        if change.value == last { return }
        if versions.count == 3 { break }
      }
    }
  }

  /// Takes models as they are.
  @Sendable private static func reachEnd(
    _ models: StoreStream<Change<Journal, Entry>>, to last: Int, _ faults: Shared<[String]>
  ) async {
    var count = -1
    for await change in models {
      let model = change.value
      if model.entries.count <= count { faults.note("\(model) came late") }
      count = model.entries.count
      if count == last { return }
    }
  }

  /// Dispatches between two elements, and waits for that, while producers wait for it.
  @Sendable private static func answer(
    _ store: JournalStore, to last: Int, _ faults: Shared<[String]>
  ) async {
    var versions: [UInt64] = []
    for await change in store.stream(.part(\.self), initial: true, buffering: .suspending(0)) {
      versions.append(change.version)
      if versions.count == 1 { await store.dispatch(.note(40), mode: .serial).ended() }
      if versions.count == 2 { await store.send(.note(41), mode: .serial(lane: "a")) }
      if change.version == last { break }
    }
    if zip(versions, versions.dropFirst()).contains(where: { $0 + 1 != $1 }) {
      faults.note("the answering one got \(versions)")
    }
  }
}
