import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Waits for a lane, in its holder's block and in the completions of dispatches whose commits were left to
  /// the thread that runs the block.
  static let deliveryRings = Scenario(
    name: "delivery-rings", summary: "a thread that delivers for others knows what it holds up"
  ) { dispatcher, _ in
    let observed = dispatcher.makePlainJournal("observed")
    dispatcher.makeJobs()
    // A notifier waits for no other turn: what it dispatches leaves its change, and its completion, to that thread.
    let other = dispatcher.makePlainJournal("other")
    let otherToken = other.observe(.model) { change in
      guard change.value.entries.last == 100 else { return }
      dispatcher.dispatch(storeIdentifier: "observed", action: Entry.note(20), mode: .sync) {
        _ = dispatcher.waitsBehind(.serial)
      }
    }
    let token = observed.observe(.model) { change in
      guard let number = change.value.entries.last, number < 10 else { return }
      dispatcher.dispatch(action: Entry.note(number + 10), mode: .sync) {
        _ = dispatcher.waitsBehind(.serial)
      }
    }
    let results = Shared([DispatchResult?]())
    async let one = dispatcher.dispatch(action: Entry.note(1), mode: .sync).result
    async let two = dispatcher.dispatch(
      action: Job.suspends {
        observed.updateModel { $0.entries.append(2) }
        results.append(dispatcher.waitsBehind(.serial))
      }, mode: .serial
    ).result
    async let three = dispatcher.dispatch(action: Entry.note(3), mode: .serial).result
    async let outside: Void = other.updateModel { $0.entries.append(100) }
    await outside
    for result in await [one, two, three] { try check(result.isSuccess, "\(result)") }
    try check(results.now.map(\.isRefused) == [true], "\(results.now)")
    token.cancel()
    otherToken.cancel()
  }

  /// Waits for a lane in hooks, of what the block of its holder dispatches.
  static let hookRings = Scenario(
    name: "hook-rings", summary: "a wait in a hook holds up the block that dispatched"
  ) { dispatcher, _ in
    dispatcher.makeJobs()
    _ = dispatcher.makePlainJournal("journal")
    let results = Shared([DispatchResult?]())
    dispatcher.register(
      middleware: WillHook { _, action, _ in
        guard action is Entry else { return .pass }
        results.append(dispatcher.waitsBehind(.serial))
        return .pass
      })
    let body: @Sendable () -> Void = {
      for (place, mode) in [Dispatcher.Mode.async, .sync, .serial(lane: "x")].enumerated() {
        dispatcher.dispatch(action: Entry.note(place + 1), mode: mode)
      }
    }
    async let one = dispatcher.dispatch(
      action: Job.suspends {
        body()
        await Task.yield()
        body()
      }, mode: .serial
    ).result
    async let two = dispatcher.dispatch(action: Job.runs(body), mode: .serial).result
    for result in await [one, two] { try check(result.isSuccess, "\(result)") }
    try check(
      results.now.map(\.isRefused) == Array(repeating: true, count: 9), "\(results.now)")
  }

  /// Blocks that wait for dispatches whose operations depend on theirs, also by way of a lane.
  static let dependencyRings = Scenario(
    name: "dependency-rings", summary: "a ring that a dependency closes is refused, and no other"
  ) { dispatcher, _ in
    dispatcher.makeJobs()
    let results = Shared([Bool]())
    let made = Shared([Int: Foundation.Operation]())
    let modes: [Dispatcher.Mode] = [.async, .serial(lane: "y"), .sync, .mainThread]
    async let own = concurrently(modes.enumerated()) { number, mode in
      await dispatcher.dispatch(
        action: Job.makes(number, made) {
          let inner = Job.depends(on: { [made[number]].compactMap { $0 } })
          results.append(await dispatcher.dispatch(action: inner, mode: .async).result.isRefused)
          let next = dispatcher.dispatch(action: inner, mode: .sync)
          results.append(next.resultIfEnded.isRefused)
        }, mode: mode
      ).result
    }
    // The second, on a lane, depends on the block of the first, which waits for that lane.
    let waits = Shared([DispatchResult]())
    let first = dispatcher.dispatch(
      action: Job.makes(10, made) {
        let behind = dispatcher.dispatch(action: Job.runs {}, mode: .serial)
        waits.append(await behind.result)
      })
    let second = dispatcher.dispatch(
      action: Job.depends(on: { [made[10]].compactMap { $0 } }), mode: .serial)
    let end = await second.result
    let ends = await own + [first.result]
    for result in ends { try check(result.isSuccess, "\(result)") }
    try check(results.now == Array(repeating: true, count: 8), "\(results.now)")
    let refusals = (waits.now + [end]).filter { !$0.isSuccess }
    try check(refusals.count <= 1 && refusals.allSatisfy(\.isRefused), "\(refusals)")
  }

  /// A block that awaits an operation which depends on another one, and that on the block's: they begin to wait at the
  /// same time.
  static let lateDependencies = Scenario(
    name: "late-dependencies",
    summary: "of waits that begin at the same time, the last one sees the ring"
  ) { dispatcher, _ in
    dispatcher.makeJobs()
    let made = Shared([Int: Foundation.Operation]())
    let (handles, waits) = (Shared([DispatchHandle]()), Shared([DispatchResult]()))
    for mode in [Dispatcher.Mode.serial, .async] {
      let first = dispatcher.dispatch(
        action: Job.makes(1, made) {
          let second = dispatcher.dispatch(action: Job.links(2, made, on: 1), mode: mode)
          handles.with { $0 = [second] }
          let third = await dispatcher.send(Job.links(3, made, on: 2), mode: .async)
          waits.with { $0 = [third.result] }
        })
      let end = await first.result
      try check(end.isSuccess, "\(end)")
      let ends = await waits.now + [handles.now[0].result]
      let refusals = ends.filter { !$0.isSuccess }
      try check(refusals.count <= 1 && refusals.allSatisfy(\.isRefused), "\(refusals)")
      made.with { $0 = [:] }
    }
  }

  /// Dispatches that have all units of a limit, and await others that need one.
  static let unitRings = Scenario(
    name: "unit-rings", summary: "of the waits that close a ring through a limit, one is refused"
  ) { dispatcher, _ in
    dispatcher.makeJobs()
    for bound in 1...2 {
      let limit = DispatchLimit(bound, overflow: .wait)
      let (waits, inner) = (Shared([DispatchResult]()), Shared([DispatchHandle]()))
      // All of them have their units before the first one begins.
      dispatcher.queue.isSuspended = true
      let holders = (1...bound).map { number in
        dispatcher.dispatch(
          action: Job.suspends {
            let needy = dispatcher.dispatch(
              action: Job.suspends {
                waits.append(
                  await dispatcher.send(Job.runs {}, options: .limited(by: limit)).result)
              }, mode: .serial(lane: number))
            inner.append(needy)
            waits.append(await needy.result)
          }, mode: number == 1 ? .serial(lane: "holder") : .async, options: .limited(by: limit))
      }
      dispatcher.queue.isSuspended = false
      for holder in holders { await holder.ended() }
      for needy in inner.now { await needy.ended() }
      try check(waits.now.count == 2 * bound, "\(waits.now)")
      try check(waits.now.count { $0.isRefused } == 1, "\(waits.now)")
      try check(limit.statistics.inFlight == 0, "\(limit.statistics)")
    }
  }
}

extension DispatchResult? {
  fileprivate var isRefused: Bool { self?.isRefused == true }
}

extension Dispatcher {
  /// Dispatches `.sync` after another one in this mode; the result, if it has ended.
  fileprivate func waitsBehind(_ mode: Mode) -> DispatchResult? {
    let behind = dispatch(action: Job.runs {}, mode: mode)
    return dispatch(action: Job.runs {}, mode: .sync, options: .after(behind)).resultIfEnded
  }
}
