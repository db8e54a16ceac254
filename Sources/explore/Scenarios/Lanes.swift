import DispatchStore

extension Scenario {
  /// Completions that dispatch to the lane that they run on, while others push to it.
  static let handOver = Scenario(
    name: "hand-over", summary: "chains continue in their lane while others push to it"
  ) { dispatcher, _ in
    let store = dispatcher.makePlainJournal("journal")
    @Sendable func chain(_ number: Int, _ left: Int, _ then: @escaping @Sendable () -> Void) {
      dispatcher.dispatch(action: Entry.note(number), mode: .serial) {
        if left > 0 { chain(number + 1, left - 1, then) } else { then() }
      }
    }
    async let first: Void = withUnsafeContinuation { done in chain(10, 2) { done.resume() } }
    async let second: Void = withUnsafeContinuation { done in chain(20, 2) { done.resume() } }
    async let other = dispatcher.dispatch(action: Entry.note(30), mode: .serial).result
    _ = await (first, second, other)
    let entries = store.model.entries
    try check(entries.sorted() == [10, 11, 12, 20, 21, 22, 30], "\(entries)")
    try checkOrder(entries, of: 1...2)
  }

  /// Lanes that run empty and are used again.
  static let namedLanes = Scenario(
    name: "named-lanes", summary: "a lane that retires loses nothing, and leaves nothing"
  ) { dispatcher, _ in
    let inLane = InFlight()
    // Numbers above thirty are of lane `b`, and not counted.
    let store = dispatcher.makeJournal("journal") { number in
      if abs(number) < 30 { inLane.note(number) }
    }
    await concurrently(1...3) { producer in
      for turn in 1...2 {
        let lane = producer == 3 ? "b" : "a"
        let handle = dispatcher.dispatch(
          action: Entry.work(producer * 10 + turn), mode: .serial(lane: lane))
        if producer == 1 { _ = await handle.result }
        if producer == 3, turn == 2 { _ = await handle.result }
      }
    }
    _ = await dispatcher.dispatch(action: Entry.note(40), mode: .serial(lane: "a")).result
    let entries = store.model.entries
    try check(inLane.most <= 1, "two actions of lane a ran at once")
    try check(entries.sorted() == [11, 12, 21, 22, 31, 32, 40], "\(entries)")
    try checkOrder(entries)
  }
}
