import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Tasks and threads that dispatch more than limits allow, some of which are cancelled or time out.
  static let bounds = Scenario(
    name: "bounds", summary: "no more are in flight than a limit allows, and each ends"
  ) { dispatcher, _ in
    let inFlight = InFlight()
    let store = dispatcher.makeJournal("journal") { inFlight.note($0) }
    let waits = DispatchLimit(2, overflow: .wait)
    let ends = Shared([Int: Bool]())
    let modes: [Dispatcher.Mode] = [.async, .serial(lane: "a"), .serial(lane: "b"), .serial]
    async let cancelled: Void = dispatcher.cancelAtSomeTime {
      await store.send(Entry.slow(7), options: .limited(by: waits))
    }
    await concurrently(1...6) { number in
      var options = DispatchOptions.limited(by: waits)
      if number == 5 { options = [options, .timeout(.milliseconds(500))] }
      ends[number] = await store.send(
        number.isMultiple(of: 2) ? Entry.slow(number) : .work(number), mode: modes[number % 4],
        options: options
      ).isSuccess
    }
    await cancelled
    try check(inFlight.now == 0, "\(inFlight.now) are left")
    try check(inFlight.most <= 2, "\(inFlight.most) of 2")
    for number in [1, 2, 3, 4, 6] { try check(ends[number] == true, "\(ends.now)") }
    try check(waits.statistics.waiting == 0, "\(waits.statistics)")

    // The newest take the places of the oldest that have not started.
    let drops = DispatchLimit(2, overflow: .dropOldest)
    let handles = (11...16).map { number in
      dispatcher.dispatch(
        storeIdentifier: "journal", action: Entry.slow(number), mode: .serial(lane: "b"),
        options: .limited(by: drops))
    }
    let results = await handles.results
    for result in results where !result.isSuccess {
      try check(result.dispatchError?.code == .dropped, "\(result)")
    }
    try check(results.last?.isSuccess == true || results.count { $0.isSuccess } >= 1, "all dropped")
    // Each has a unit again: none was lost.
    for number in 21...24 {
      let result = await store.send(Entry.note(number), options: .limited(by: waits, drops))
      try check(result.isSuccess, "\(result)")
    }
  }

  /// Several drains of a dispatcher whose work goes on from completions.
  static let drains = Scenario(
    name: "drains", summary: "a drain ends after all work that was accepted, and nothing follows"
  ) { dispatcher, _ in
    let begun = Shared(0)
    let ended = Shared(0)
    let store = dispatcher.makeJournal("journal") { number in
      (number > 0 ? begun : ended).with { $0 += 1 }
    }
    @Sendable func chain(_ number: Int, _ left: Int) {
      let mode: Dispatcher.Mode = [.async, .serial, .serial(lane: "a")][left % 3]
      dispatcher.dispatch(
        storeIdentifier: "journal", action: left == 1 ? Entry.slow(number) : .work(number),
        mode: mode
      ) {
        if left > 0 { chain(number + 1, left - 1) }
      }
    }
    chain(1, 3)
    chain(11, 2)
    let early = Shared(0)
    // Accepted before a drain has closed it, or refused.
    async let other = store.send(Entry.note(21))
    await concurrently(0..<3) { _ in
      let report = await dispatcher.drain()
      if begun.now != ended.now || begun.now != 7 || !report.isComplete { early.with { $0 += 1 } }
    }
    _ = await other
    try check(early.now == 0, "\(early.now) drains ended before the work")
    let late = await store.send(Entry.note(22))
    try check(late.dispatchError?.code == .dispatcherClosed, "\(late)")
  }
}
