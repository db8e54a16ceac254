import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Watchdog", .timeLimit(.minutes(10)))
struct WatchdogTests {
  let clock = VirtualClock()
  let dispatcher: Dispatcher
  let reports = Recorder<Diagnosis>()
  let free = Latch()

  init() {
    dispatcher = Dispatcher(name: "watched", queue: .wide(4), clock: clock)
    dispatcher.addStage()
  }

  private func watch() {
    dispatcher.watchdog(after: .seconds(8)) { [reports] in reports.record($0) }
  }

  private func hold(_ mode: Dispatcher.Mode) async {
    let (started, free, dispatcher) = (Latch(), free, dispatcher)
    let action = Script.holds(opening: started, until: free)
    if mode == .sync {
      Thread { dispatcher.dispatch(action: action, mode: mode) }.start()
    } else {
      dispatcher.dispatch(action: action, mode: mode)
    }
    await started.opened()
  }

  /// Lets what is held go on.
  private func end() async {
    free.open()
    #expect(await dispatcher.drain().isComplete)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func reportsAStallOnceAndAgainAfterTwiceTheTime(mode: Dispatcher.Mode) async {
    watch()
    await hold(mode)
    await clock.pass(.seconds(7))
    #expect(reports.count == 0)
    await clock.pass(.seconds(1))
    let first = await reports.first(1)[0]
    #expect(first.entries.count == 1 && first.entries[0].timeUnmoved == .seconds(8))
    #expect(first.entries[0].mode == mode)
    #expect(first.description.contains("in flight for 8 s"))
    await clock.pass(.seconds(4))
    #expect(reports.count == 1)
    await clock.pass(.seconds(4))
    #expect(await reports.first(2)[1].entries[0].timeUnmoved == .seconds(16))
    await clock.pass(.seconds(8))
    await clock.pass(.seconds(8))
    #expect(await reports.first(3)[2].entries[0].timeUnmoved == .seconds(32))
    await end()
    #expect(reports.count == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func reportsNothingThatMoves(mode: Dispatcher.Mode) async {
    watch()
    let gates = [Latch(), Latch(), Latch()]
    let started = Recorder<String>()
    for (index, name) in ["first", "second", "third"].enumerated() {
      dispatcher.addStage(name, waitFor: index == 0 ? [] : [["first", "second"][index - 1]])
    }
    dispatcher.unregister(storeIdentifier: "stage")
    let dispatcher = dispatcher
    let action = Script.suspends { stage in
      started.record(stage.identifier)
      await gates[started.count - 1].opened()
    }
    Thread { dispatcher.dispatch(action: action, mode: mode) }.start()
    for index in 0..<3 {
      _ = await started.first(index + 1)
      await clock.pass(.seconds(index == 0 ? 6 : 7))
      // In all more than the limit, but not since the last start.
      if index < 2 { gates[index].open() }
    }
    #expect(reports.count == 0)
    // It has not moved for 7 of 8 seconds now.
    await clock.pass(.seconds(1))
    #expect(await reports.first(1)[0].entries[0].timeUnmoved == .seconds(8))
    gates[2].open()
    #expect(await dispatcher.drain().isComplete)
  }

  /// A lane with much to do.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func reportsNothingThatWaitsForWhatMoves(mode: Dispatcher.Mode) async {
    watch()
    let gates = (0..<4).map { _ in Latch() }
    let started = Recorder<Int>()
    dispatcher.dispatch(
      actions: gates.indices.map { index in
        Script.suspends { _ in
          started.record(index)
          await gates[index].opened()
        }
      }, mode: mode)
    _ = await started.first(1)
    let waiting = dispatcher.dispatch(action: Script.adds("x"), mode: mode)
    for index in 0..<3 {
      await clock.pass(.seconds(6))
      gates[index].open()
      _ = await started.first(index + 2)
    }
    // It waits for 18 seconds now.
    await clock.waitForSleepers(atLeast: 1)
    #expect(reports.count == 0 && !waiting.hasEnded)
    gates[3].open()
    #expect(await waiting.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(reports.count == 0)
  }

  /// However long that takes.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func reportsNothingThatWaitsForATokenOfARateLimit(mode: Dispatcher.Mode) async {
    watch()
    let limit = RateLimit(1, per: .seconds(60), overflow: .wait)
    func dispatch(_ name: String, _ options: DispatchOptions) -> DispatchHandle {
      dispatcher.dispatch(action: Script.adds(name), mode: mode, options: options)
    }
    #expect(await dispatch("1", .rateLimited(by: limit)).result.isSuccess)
    let waiting = dispatch("2", .rateLimited(by: limit))
    let behind = dispatch("3", [])
    await limit.waiting(1)
    for _ in 0..<7 { await clock.pass(.seconds(8)) }
    await clock.waitForSleepers(atLeast: 1)
    #expect(reports.count == 0 && !waiting.hasEnded)
    // A look that comes late may find them about to begin, so reports no longer count.
    await clock.pass(.seconds(4))
    #expect(await waiting.result.isSuccess)
    #expect(await behind.result.isSuccess)
  }

  enum Waiting: CaseIterable { case awaits, sends, comesAfter }

  /// However late that is.
  @Test(arguments: Dispatcher.Mode.queuedModes, Waiting.allCases)
  func reportsNothingThatWaitsForADelayedDispatch(
    mode: Dispatcher.Mode, waiting: Waiting
  ) async {
    watch()
    let (dispatcher, action) = (dispatcher, Script.adds("delayed"))
    let later = DispatchOptions.delayed(by: .seconds(60))
    let lane = Dispatcher.Mode.serial(lane: "waiting")
    let waiter: DispatchHandle
    switch waiting {
    case .awaits:
      let delayed = dispatcher.dispatch(action: action, mode: mode, options: later)
      waiter = dispatcher.dispatch(
        action: Script.suspends { _ in await delayed.ended() }, mode: lane)
    case .sends:
      waiter = dispatcher.dispatch(
        action: Script.suspends { _ in
          await dispatcher.send(action, mode: mode, options: later)
        }, mode: lane)
    case .comesAfter:
      let delayed = dispatcher.dispatch(action: action, mode: mode, options: later)
      waiter = dispatcher.dispatch(
        action: Script.adds("after"), mode: lane, options: .after(delayed))
    }
    var states: [String] = []
    var isWaiting = false
    while !isWaiting {
      await Task.yield()
      // The waiter's edge comes first if it sends the delayed one, and last if it awaits it.
      let diagnosis = dispatcher.diagnosis()
      states = diagnosis.entries.flatMap(\.states)
      isWaiting =
        !diagnosis.edges.isEmpty && states.contains { $0.hasPrefix("waits for its time") }
    }
    #expect(!states.contains { $0.contains("queue") }, "\(states)")
    for _ in 0..<7 { await clock.pass(.seconds(8)) }
    await clock.waitForSleepers(atLeast: 1)
    #expect(reports.count == 0 && !waiter.hasEnded)
    // A look that comes late may find it about to begin, so reports no longer count.
    await clock.pass(.seconds(4))
    #expect(await waiter.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func reportsNothingThatPausesBeforeAnotherAttempt(mode: Dispatcher.Mode) async {
    watch()
    let attempts = Recorder<Int>()
    let failing = dispatcher.dispatch(
      action: Script.failsOnce(noting: attempts), mode: mode,
      options: .retry(attempts: 2, backoff: .constant(.seconds(60))))
    _ = await attempts.first(1)
    // The watchdog's, and that of the pause, which would be longer if the time advanced before it is set.
    await dispatcher.timersAreSet(2)
    for _ in 0..<7 { await clock.pass(.seconds(8)) }
    await clock.waitForSleepers(atLeast: 1)
    #expect(reports.count == 0 && !failing.hasEnded)
    // A look that comes late may find it about to begin, so reports no longer count.
    await clock.pass(.seconds(4))
    #expect(await failing.result.isSuccess)
  }

  @Test func reportsWhatWaitsOnceThatNoLongerMoves() async {
    watch()
    let (began, goesOn, second) = (Latch(), Latch(), Latch())
    let (dispatcher, free) = (dispatcher, free)
    dispatcher.dispatch(
      actions: [
        Script.holds(opening: began, until: goesOn),
        Script.holds(opening: second, until: free),
      ], mode: .serial)
    await began.opened()
    dispatcher.dispatch(action: Script.adds("x"), mode: .serial)
    await clock.pass(.seconds(4))
    let moved = dispatcher.diagnosis().entries.count
    goesOn.open()
    #expect(moved == 3)
    // The sequence has moved after four seconds, and does so no more.
    await second.opened()
    for _ in 0..<20 where reports.count == 0 { await clock.pass(.seconds(1)) }
    let report = await reports.first(1)[0]
    #expect(report.entries.count == 3)
    await end()
  }

  /// One for each would be a flood.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func reportsNothingMoreForWhatWaitsForTheSame(mode: Dispatcher.Mode) async {
    watch()
    await hold(mode)
    await clock.pass(.seconds(2))
    for _ in 0..<5 { dispatcher.dispatch(action: Script.adds("x"), mode: mode) }
    await clock.pass(.seconds(6))
    #expect(await reports.first(1)[0].entries.count == 6)
    // Those behind have not moved for the limit now.
    await clock.pass(.seconds(2))
    await clock.waitForSleepers(atLeast: 1)
    #expect(reports.count == 1)
    await clock.pass(.seconds(6))
    #expect(await reports.first(2)[1].entries.count == 6)
    await end()
    #expect(reports.count == 2)
  }

  @Test func reportsAnotherStallToo() async {
    watch()
    await hold(.serial(lane: "a"))
    await clock.pass(.seconds(4))
    await hold(.serial(lane: "b"))
    await clock.pass(.seconds(4))
    #expect(await reports.first(1)[0].entries.count == 2)
    await clock.pass(.seconds(4))
    _ = await reports.first(2)
    await end()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func reportsNothingOnceItIsSwitchedOff(mode: Dispatcher.Mode) async {
    dispatcher.tracksInFlight = true
    watch()
    await hold(mode)
    await clock.waitForSleepers(atLeast: 1)
    dispatcher.watchdog(after: nil)
    await dispatcher.timersAreGone()
    clock.advance(by: .seconds(100))
    #expect(dispatcher.diagnosis().entries.count == 1)
    await hold(.serial(lane: "other"))
    #expect(dispatcher.timers.count == 0 && reports.count == 0)
    await end()
  }

  @Test func isReleasedWithItsTimer() async {
    watch()
    weak let released = dispatcher.inFlightTable?.users.watchdog
    #expect(released != nil)
    await hold(.serial)
    await clock.waitForSleepers(atLeast: 1)
    dispatcher.watchdog(after: nil)
    await end()
    // The thread that has ended the dispatch may still have it, and then it is that thread that cancels the timer.
    while released != nil { await Task.yield() }
    await dispatcher.timersAreGone()
  }

  /// A second one takes the place of the first.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func isSwitchedOnAtRunTimeAndReplaced(mode: Dispatcher.Mode) async {
    let early = Latch()
    dispatcher.dispatch(
      action: Script.suspends { _ in await early.opened() }, mode: .serial(lane: "early"))
    watch()
    let others = Recorder<Diagnosis>()
    dispatcher.watchdog(after: .seconds(4)) { others.record($0) }
    await hold(mode)
    await clock.pass(.seconds(4))
    #expect(await others.first(1)[0].entries.map(\.mode) == [mode])
    free.open()
    early.open()
    #expect(await dispatcher.drain().isComplete)
    #expect(reports.count == 0)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func knowsWhatTheTableHasWhenItIsSet(mode: Dispatcher.Mode) async {
    dispatcher.tracksInFlight = true
    await hold(mode)
    watch()
    dispatcher.tracksInFlight = false
    await clock.pass(.seconds(8))
    #expect(await reports.first(1)[0].entries.map(\.mode) == [mode])
    await end()
    #expect(dispatcher.inFlight.isEmpty && !dispatcher.tracksInFlight)
  }

  /// It comes to the table that it found when it was made, which has no watchdog.
  @Test func seesADispatchThatComesToTheFormerTable() async throws {
    dispatcher.tracksInFlight = true
    await hold(.serial)
    let former = try #require(dispatcher.inFlightTable)
    let trace = try #require(former.all.first)
    former.forget(trace.id)
    watch()
    former.add(trace, of: dispatcher)
    await clock.pass(.seconds(8))
    #expect(await reports.first(1)[0].entries.count == 1)
    await end()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")])
  func reportsWhatASuspendedQueueHoldsBack(mode: Dispatcher.Mode) async {
    watch()
    dispatcher.queue.isSuspended = true
    for _ in 0..<3 { dispatcher.dispatch(action: Script.adds("x"), mode: mode) }
    await clock.pass(.seconds(8))
    let report = await reports.first(1)[0]
    #expect(report.isSuspended && report.entries.count == 3)
    #expect(report.description.contains("suspended"))
    dispatcher.queue.isSuspended = false
    #expect(await dispatcher.drain().isComplete)
    #expect(reports.count == 1)
  }

  @Test func reportsAlsoWhereAllThreadsOfTheQueueBlock() async {
    watch()
    let (started, free, dispatcher) = (EventCount(of: 4), free, dispatcher)
    for _ in 0..<5 {
      dispatcher.dispatch(
        action: Script.runs { _ in
          started.add()
          free.wait()
        }, mode: .async)
    }
    await started.full()
    await clock.pass(.seconds(8))
    let report = await reports.first(1)[0]
    #expect(report.entries.count == 5)
    #expect(report.entries.count { $0.waitsForQueue } == 1)
    await end()
  }

  @Test func restsWhileNothingIsInFlight() async {
    watch()
    await dispatcher.dispatch(action: Script.adds("x"), mode: .serial).ended()
    #expect(dispatcher.timers.count == 1)
    await clock.pass(.seconds(8))
    // The alarm has come where the next dispatch sets another one.
    await dispatcher.timersAreGone()
    await hold(.serial)
    await clock.pass(.seconds(8))
    _ = await reports.first(1)
    await end()
  }

  @Test func reportsAnWarningByDefault() async {
    let warnings = Recorder<DispatchWarning>()
    dispatcher.onWarning { warnings.record($0) }
    dispatcher.watchdog(after: .seconds(8))
    await hold(.serial)
    dispatcher.dispatch(action: Script.adds("x"), mode: .serial)
    await clock.pass(.seconds(8))
    let warning = await warnings.first(1)[0]
    #expect(warning.kind == .stalled)
    #expect(
      warning.message.hasPrefix(
        "Nothing has moved for 8 s.\nDispatcher \"watched\": 2 in flight"))
    await end()
  }

  @Test func reportsByTheSystemsClock() async {
    let (dispatcher, _) = makeStage()
    dispatcher.watchdog(after: .milliseconds(5)) { [reports] in reports.record($0) }
    let free = free
    let held = dispatcher.dispatch(
      action: Script.runs { _ in free.wait() }, mode: .serial)
    #expect(await reports.first(2).allSatisfy { $0.entries.count == 1 })
    free.open()
    await held.ended()
  }
}
