import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches with time limits, names and keys, and what their blocks dispatch.
  static let limits = Scenario(
    name: "limits",
    summary: "what is limited or cancelled ends, with what its blocks have dispatched"
  ) { dispatcher, simulation in
    let events = Shared([Int]())
    let inFlight = InFlight()
    let found = Shared(0)
    let store = dispatcher.makeJournal("journal") { [weak dispatcher] number in
      if number > 60 {
        found.with { $0 += dispatcher?.dispatches(named: number).count ?? 0 }
      }
      if number > 0 { events.append(number) }
      if abs(number) / 10 == 4 { inFlight.note(number) }
    }
    let children = Shared([DispatchHandle]())
    @Sendable func dispatch(
      _ action: Entry, _ mode: Dispatcher.Mode, _ options: DispatchOptions
    ) -> DispatchHandle {
      dispatcher.dispatch(
        storeIdentifier: "journal", action: action, mode: mode, options: options
      ) {
        events.append(-action.number)
      }
    }
    let clock = simulation.clock
    // Each would run for an hour.
    let held = [
      dispatch(.hold(11), .serial(lane: "a"), .timeout(.seconds(1))),
      dispatch(.hold(12), .async, .timeout(.seconds(2))),
      dispatch(.hold(13), .mainThread, [.timeout(.seconds(3)), .named("held")]),
      dispatch(.hold(14), .serial(lane: "a"), .timeout(.seconds(1))),
    ]
    let next = dispatch(.note(15), .serial(lane: "a"), .after())
    let parents = dispatcher.dispatchParents(of: children)
    simulation.startThread { parents[0].cancel() }
    simulation.startThread { dispatcher.cancel(named: "c") }
    // The deadline of each comes at about the time at which it ends.
    let racing = (31...33).map { number in
      dispatch(
        .slow(number), [.serial(lane: "a"), .async, .mainThread][number - 31],
        .timeout(.seconds(1)))
    }
    async let single = concurrently(41...43) { number in
      await store.send(Entry.slow(number), options: .skippedIfInFlight("single")).isSuccess
    }
    let latest = (51...53).map { dispatch(.slow($0), .async, .cancelsPrevious("latest")) }
    let named = (61...63).map { number in
      dispatch(
        .work(number), [.serial(lane: "e"), .async, .mainThread][number - 61], .named(number))
    }
    for handle in named { await handle.ended() }
    try check(found.now == 3, "\(found.now) of 3 blocks found their dispatch by its name")
    for result in await held.results {
      try check(result.dispatchError?.code == .timedOut, "\(result)")
    }
    try check(clock.now.offset < .seconds(3_600), "a deadline was missed")
    try check(await next.result.isSuccess, "the lane did not go on")
    // The name may have been used before the dispatch had it.
    dispatcher.cancel(named: "c")
    for handle in parents { await handle.ended() }
    for result in await children.now.results {
      try check(!result.isSuccess, "\(result) is of a block whose dispatch was cancelled")
    }
    for handle in racing { await handle.ended() }
    try check(await single.contains(true) && inFlight.most == 1, "\(inFlight.most)")
    try check(await latest[2].result.isSuccess, "the latest one was cancelled")
    for handle in latest { await handle.ended() }
    for number in [11, 12, 13, 14, 15, 31, 32, 33, 51, 52, 53] {
      let all = events.now
      try check(all.count { $0 == -number } == 1, "completions of \(number): \(all)")
    }
    for (number, handle) in zip(31...33, racing) {
      // A dispatch that had started may get to its block's first line after the end.
      guard case .cancelled(hasStarted: false) = await handle.result["journal"] else { continue }
      try check(!events.now.contains(number), "\(number) has run, and its result says not")
    }
    for name in ["held", "c"] {
      try check(dispatcher.dispatches(named: name).isEmpty, "\(name) names what has ended")
    }
  }
}

extension Dispatcher {
  /// Dispatches blocks that dispatch entries which hold; all but the last one run until they are cancelled.
  fileprivate func dispatchParents(of children: Shared<[DispatchHandle]>) -> [DispatchHandle] {
    makeJobs()
    // Dispatches an entry that holds, and runs until it is cancelled.
    func hold(_ number: Int) -> Job {
      .suspends {
        children.append(self.dispatch(action: Entry.hold(number), mode: .serial(lane: "d")))
        try await self.simulation!.clock.sleep(for: .seconds(3_600))
      }
    }
    return [
      dispatch(action: hold(21), mode: .serial(lane: "b")),
      dispatch(action: hold(22), mode: .async, options: .timeout(.milliseconds(500))),
      dispatch(action: hold(23), mode: .serial(lane: "c"), options: .named("c")),
      dispatch(
        action: Job.suspends { children.append(self.dispatch(action: Entry.hold(24))) },
        mode: .async, options: .timeout(.seconds(1))),
    ]
  }
}
