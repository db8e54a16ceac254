import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Tasks that contend for a lane in which actions only reduce, so that these run on the lane's thread.
  ///
  /// One of the tasks is the block of a dispatch for which the observer of another one's change waits.
  static let turns = Scenario(
    name: "turns", summary: "what is sent to a busy lane keeps its order, on whichever thread"
  ) { dispatcher, _ in
    let mode = Dispatcher.Mode.serial(lane: "a")
    let store = dispatcher.makePlainJournal("journal")
    let log = dispatcher.makePlainJournal("log")
    let isBlockRefused = Shared(false)
    dispatcher.makeJobs()
    let block = dispatcher.dispatch(
      action: Job.suspends {
        let result = await store.send(Entry.note(9), mode: mode).result
        isBlockRefused.with { $0 = result.isRefused }
      }, mode: .serial(lane: "b"))
    let bound = Shared<[Int: Int]>([:])
    let isRefused = Shared(false)
    let observer = store.observe(.model) { change in
      guard let number = change.action?.number else { return }
      bound[number] = Turn.producer
      guard number == 21 else { return }
      let result = dispatcher.dispatch(
        storeIdentifier: "log", action: Entry.note(99), mode: .sync,
        options: .after(block)
      ).resultIfEnded
      isRefused.with { $0 = result?.isRefused == true }
    }
    async let cancelled: Void = dispatcher.cancelAtSomeTime {
      await store.send(Entry.note(41), mode: mode)
    }
    await concurrently(1...3) { producer in
      await Turn.$producer.withValue(producer) {
        for step in 1...3 { await store.send(Entry.note(producer * 10 + step), mode: mode) }
      }
    }
    await cancelled
    let result = await block.result
    let entries = store.model.entries
    try check(result.isSuccess, "\(result)")
    try check(log.model.entries == (isRefused.now ? [] : [99]), "\(log.model.entries)")
    // The two wait for each other, or one has ended before the other begins to wait.
    try check(!isRefused.now || !isBlockRefused.now, "both are refused")
    let own = (isBlockRefused.now ? [] : [9]) + [11, 12, 13, 21, 22, 23, 31, 32, 33]
    try check(entries.filter { $0 != 41 }.sorted() == own, "\(entries)")
    try checkOrder(entries)
    for number in entries where (1...3).contains(number / 10) {
      // The task's own value, or none on the lane's thread.
      let value = bound[number] ?? -1
      try check(value == number / 10 || value == 0, "\(number) ran with \(value)")
    }
    observer.cancel()
  }
}

private enum Turn {
  @TaskLocal static var producer = 0
}
