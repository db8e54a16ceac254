import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Only the latest, and only one at a time", .timeLimit(.minutes(10)))
struct KeyTests {
  var (clock, dispatcher, stage) = makeClockedStage()
  let log = Recorder<String>()

  private func holds(_ name: String, until free: Latch = Latch()) -> Script {
    .holds("+\(name)", in: log, until: free)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func aNewerOneCancelsTheOlder(_ mode: Dispatcher.Mode, sends: Bool) async {
    let sends = sends && mode != .sync
    let free = Latch()
    let first = dispatcher.begin(holds("1"), mode, .cancelsPrevious("search"), sends: sends)
    _ = await log.first(1)
    let second = dispatcher.begin(holds("2"), mode, .cancelsPrevious("search"), sends: sends)
    #expect(await first.value["stage"].isCancelled == true)
    #expect(await log.first(2) == ["+1", "+2"])
    let other = dispatcher.begin(.adds("other"), .async, .cancelsPrevious("other"))
    #expect(await other.value.isSuccess)
    let third = dispatcher.begin(
      holds("3", until: free), mode, .cancelsPrevious("search"), sends: sends)
    #expect(await second.value["stage"].isCancelled == true)
    free.open()
    #expect(await third.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func oneThatWaitsIsCancelledWithoutARun(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let holder = dispatcher.dispatch(action: holds("holder", until: free), mode: mode)
    let waiting = (0..<5).map {
      dispatcher.dispatch(action: Script.adds("\($0)"), mode: mode, options: .cancelsPrevious(1))
    }
    for handle in waiting.dropLast() { #expect(await handle.result.error is CancellationError) }
    free.open()
    #expect(await waiting[4].result.isSuccess)
    #expect(stage.model == ["4"])
    await holder.ended()
  }

  /// Its lane may run it before the task goes on that has sent it.
  @Test func oneThatFollowsAnotherSentToABusyLaneIsTheNewer() async throws {
    for seed in 0..<UInt64(Load.count(300)) {
      var simulation = Simulation(seed: seed)
      simulation.switchesAtLocks = true
      let report = await simulation.run { dispatcher in
        let counter = dispatcher.register(store: .counter("counter"))
        dispatcher.addStage()
        let newer = Recorder<DispatchHandle>()
        counter.dispatch(.add(1), mode: .serial)
        let newest = DispatchOptions.cancelsPrevious("key")
        await dispatcher.send(CounterAction.add(1), mode: .serial, options: newest) { _ in
          let script = Script.suspends { _ in
            for _ in 0..<4 { await Task.yield() }
            try Task.checkCancellation()
          }
          newer.record(
            dispatcher.dispatch(action: script, mode: .serial, options: newest))
        }
        let isSuccess = await newer.all[0].result.isSuccess
        guard isSuccess, counter.model.count == 2 else { throw StageFright() }
      }
      try #require(report.failure == nil, "\(report)")
    }
  }

  @Test func ofSeveralKeysTheLastOneCounts() async {
    let free = Latch()
    let one = dispatcher.begin(
      holds("1", until: free), .async,
      [.skippedIfInFlight("a"), .skippedIfInFlight("b"), .cancelsPrevious(1), .cancelsPrevious(2)])
    _ = await log.first(1)
    let others = [
      dispatcher.begin(.adds("a"), .async, .skippedIfInFlight("a")),
      dispatcher.begin(.adds("1"), .async, .cancelsPrevious(1)),
    ]
    for other in others { #expect(await other.value.isSuccess) }
    #expect(
      await dispatcher.begin(.adds("b"), .async, .skippedIfInFlight("b")).value.errorCode
        == .skipped)
    free.open()
    #expect(await one.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func oneIsSkippedWhileAnotherIsInFlight(_ mode: Dispatcher.Mode, sends: Bool) async {
    let sends = sends && mode != .sync
    let free = Latch()
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let first = dispatcher.begin(
      holds("1", until: free), mode, .skippedIfInFlight("sync"), sends: sends)
    _ = await log.first(2)
    let second = await dispatcher.begin(.adds("2"), mode, .skippedIfInFlight("sync"), sends: sends)
      .value
    #expect(second.dispatchError?.code == .skipped, "\(second)")
    #expect(second["stage"].isCancelled == true)
    #expect(log.all == ["m will stage", "+1"])
    #expect(
      await dispatcher.begin(.adds("other"), .async, .skippedIfInFlight("other")).value.isSuccess)
    free.open()
    #expect(await first.value.isSuccess)
    #expect(
      await dispatcher.begin(.adds("3"), mode, .skippedIfInFlight("sync"), sends: sends).value
        .isSuccess)
    #expect(stage.model == ["other", "3"])
  }

  @Test func ofManyAtOnceOneRuns() async {
    for round in 0..<200 {
      let free = Latch()
      let (dispatcher, script) = (dispatcher, holds("\(round)", until: free))
      let results = Recorder<DispatchHandle>()
      await onOwnThreads(4) { _ in
        results.record(
          dispatcher.dispatch(action: script, mode: .async, options: .skippedIfInFlight(round)))
      }
      free.open()
      var ran = 0
      for handle in results.all where await handle.result.isSuccess { ran += 1 }
      #expect(ran == 1)
    }
  }

  /// The work is not begun twice.
  @Test(arguments: [false, true])
  func oneThatHasTimedOutIsInFlightUntilItsBlockHasEnded(joins: Bool) async {
    let (began, free) = (Latch(), Latch())
    let key: DispatchOptions =
      joins ? .idempotencyKey("key", remembered: .zero) : .skippedIfInFlight(1)
    let first = dispatcher.dispatch(
      action: Script.holds(opening: began, until: free),
      options: [key, .timeout(.seconds(1)), .named("first")])
    await began.opened()
    await clock.pass(.seconds(1))
    #expect(await first.result.dispatchError?.code == .timedOut)
    #expect(dispatcher.dispatches(named: "first").isEmpty)
    let second = await dispatcher.dispatch(action: Script.adds("2"), options: key).result
    #expect(second.dispatchError?.code == (joins ? .timedOut : .skipped))
    free.open()
    await withUnsafeContinuation { continuation in
      first.dispatch!.at(.over) { continuation.resume() }
    }
    let third = await dispatcher.dispatch(action: Script.adds("3"), options: key).result
    #expect(third.isSuccess)
    #expect(stage.model == ["3"])
    #expect(dispatcher.idempotencyTable.answer("key") == nil)
  }

  @Test func whatIsDispatchedInABlockOfAnOlderOneGoesOnWhereItIsDetached() async {
    let (dispatcher, handles) = (dispatcher, Recorder<DispatchHandle>())
    let first = dispatcher.dispatch(
      action: Script.suspends { _ in
        handles.record(
          dispatcher.dispatch(
            action: Script.adds("new"), options: [.cancelsPrevious("key"), .detached]))
        await handles.first(2)[1].ended()
      }, mode: .serial, options: .cancelsPrevious("key"))
    handles.record(await handles.first(1)[0])
    #expect(await handles.all[0].result.isSuccess)
    await first.ended()
    #expect(stage.model == ["new"])
  }
}
