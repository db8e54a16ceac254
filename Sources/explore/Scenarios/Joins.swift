import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Repeats of actions in flight from several threads, tasks and modes.
  static let joins = Scenario(
    name: "joins", summary: "a repeat of what is in flight runs nothing, and has its result"
  ) { dispatcher, simulation in
    let keys = Holders<Int>()
    _ = dispatcher.makeJournal("journal") { keys.note($0, in: [abs($0) / 100]) }
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]
    let results = Shared([DispatchResult]())
    await withTaskGroup { group in
      for number in 0..<8 {
        let (key, mode) = (1 + number % 2, modes[number % 4])
        group.addTask {
          var options: DispatchOptions = [.idempotencyKey(key, remembered: .zero), .named(number)]
          // All of its key have it, so that they join before it skips them.
          if key == 2 { options = [options, .skippedIfInFlight(key)] }
          results.append(
            await dispatcher.result(
              of: Entry.slow(key * 100 + number), mode: mode, options: options,
              isSent: number < 4 && mode != .mainThread))
        }
      }
      simulation.startThread { dispatcher.cancel(named: 5) }
      simulation.startThread {
        let handle = dispatcher.dispatch(
          action: Entry.slow(150), mode: .sync, options: .idempotencyKey(1, remembered: .zero))
        results.append(handle.resultIfEnded!)
      }
    }
    try await simulation.clock.sleep(for: .seconds(1))
    try check(keys.faults.now.isEmpty, "\(keys.faults.now)")
    let all = results.now
    try check(all.count == 9, "\(all.count) have ended")
    // At least one dispatch ran for each transaction that succeeded.
    let succeeded = Set(all.filter(\.isSuccess).map(\.dispatchID))
    try check(keys.begun.count >= succeeded.count && succeeded.count >= 1, "\(all)")
    for result in all where !result.isSuccess {
      try check(result.error is CancellationError, "\(result)")
    }
    for key in 1...2 {
      let next = await dispatcher.send(
        Entry.note(key), options: .idempotencyKey(key, remembered: .zero))
      try check(next.isSuccess, "\(next)")
    }
  }

  /// Blocks that wait for what joins, or is delayed, and then needs each other's lanes.
  static let lateRings = Scenario(
    name: "late-rings", summary: "a ring is refused that closes when what is waited for begins"
  ) { dispatcher, _ in
    let results = Shared([DispatchResult]())
    dispatcher.makeJobs()
    // Waits for another dispatch in a lane.
    func crossing(into lane: Int, _ options: DispatchOptions) -> Job {
      .suspends {
        await Task.yield()
        let handle = dispatcher.dispatch(
          action: Job.suspends {}, mode: .serial(lane: lane), options: options)
        results.append(await handle.result)
      }
    }
    // Each has a lane and a key, and waits for what joins the other's key.
    let joining = [(1, 2), (2, 1)].map { own, other in
      dispatcher.dispatch(
        action: crossing(into: 10 + own, .idempotencyKey(other, remembered: .zero)),
        mode: .serial(lane: own), options: .idempotencyKey(own, remembered: .zero))
    }
    // Each waits for what is to begin in the other's lane.
    let delayed = [(3, 4), (4, 3)].map { own, other in
      let options = DispatchOptions.debounced(other, for: .seconds(own == 3 ? 1 : 2))
      return dispatcher.dispatch(
        action: crossing(into: other, options), mode: .serial(lane: own))
    }
    // The holder waits for a dispatch that joins one behind it in its lane.
    let holder = dispatcher.dispatch(
      action: crossing(into: 15, .idempotencyKey(5, remembered: .zero)), mode: .serial(lane: 5))
    let behind = dispatcher.dispatch(
      action: Job.suspends {}, mode: .serial(lane: 5),
      options: .idempotencyKey(5, remembered: .zero))
    let last = await behind.result
    try check(last.isSuccess || last.isRefused, "\(last)")
    for result in await (joining + delayed + [holder]).results {
      try check(result.isSuccess, "\(result)")
    }
    let all = results.now
    // A dispatch whose key the other block was first to use has joined that one, and waits for nothing.
    try check(all.count >= 4, "\(all.count) waits have ended")
    for result in all where !result.isSuccess {
      try check(result.isRefused, "\(result)")
    }
    try check(all.contains { !$0.isSuccess }, "No ring was refused: \(all)")
  }
}
