import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// A dispatch looks at the clock when its last store has ended: so its outcome is the same whenever timers come.
@Suite("Time limits whose timers come late", .timeLimit(.minutes(1)))
struct LateTimerTests {
  static let second = Duration.seconds(1)

  private let clock = VirtualClock()
  private let dispatcher: Dispatcher
  private let stage: Stage
  private let log = Recorder<String>()

  init() {
    // Timers never fire.
    dispatcher = Dispatcher(clock: SleeplessClock(clock))
    stage = dispatcher.addStage()
  }

  private func run(
    _ script: Script, _ way: Way, _ options: DispatchOptions = .timeout(LateTimerTests.second)
  ) async -> DispatchResult {
    await dispatcher.begin(script, way.mode, options, sends: way.sends) { [log] result in
      log.record("completion \(result.dispatchError.map { "\($0.code)" } ?? "finished")")
    }.value
  }

  /// Changes the model, and lets the limit pass.
  private var late: Script {
    .runs { [clock] store in
      store.updateModel { $0.append("late") }
      clock.advance(by: Self.second)
    }
  }

  @Test(arguments: Way.all, [false, true])
  func oneWhoseDeadlineHasPassedAtItsEndHasTimedOut(_ way: Way, hooked: Bool) async {
    if hooked { dispatcher.register(middleware: RecordingMiddleware("m", to: log)) }
    let result = await run(late, way)
    expectTimedOut(result)
    #expect(result["stage"].isFinished == true, "The outcome of the store stays: \(result)")
    #expect(stage.model == ["late"], "What was committed stays.")
    let hooks = hooked ? ["m will stage", "m did stage"] : []
    #expect(log.all == hooks + ["completion timedOut"])
    let next = await run(.adds("next"), way)
    #expect(next.isSuccess, "\(next)")
    await dispatcher.timersAreGone()
  }

  @Test(arguments: Way.all)
  func ofSeveralStoresTheLastOneCounts(_ way: Way) async {
    let (log, clock) = (log, clock)
    dispatcher.register(
      middleware: RecordingMiddleware(
        "m", to: log, did: { _, _, _ in clock.advance(by: .milliseconds(300)) }))
    dispatcher.addStage("b", waitFor: ["stage"])
    dispatcher.addStage("c", waitFor: ["b"])
    // The hooks before the last store count: 300 + 300 + 400 ms.
    let script = Script.suspends { store in
      await Task.yield()
      if store.identifier == "c" { clock.advance(by: .milliseconds(400)) }
    }
    let result = await run(script, way)
    expectTimedOut(result)
    #expect(result.stores.filter { !$0.outcome.isFinished }.isEmpty)
  }

  @Test(arguments: Way.all, [false, true])
  func timeThatPassesAfterTheLastStoreDoesNotCount(_ way: Way, suspends: Bool) async {
    let clock = VirtualClock()
    let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
    dispatcher.register(
      middleware: RecordingMiddleware(
        "m", to: log, did: { _, _, _ in clock.advance(by: .seconds(9)) }))
    let script: Script = suspends ? .suspends { _ in await Task.yield() } : .adds("x")
    let result = await dispatcher.begin(
      script, way.mode, .timeout(Self.second), sends: way.sends
    ) { [log] result in
      clock.advance(by: .seconds(9))
      log.record("completion \(result.isSuccess)")
    }.value
    #expect(result.isSuccess, "\(result)")
    #expect(log.all == ["m will stage", "m did stage", "completion true"])
    await dispatcher.timersAreGone()
  }

  @Test(arguments: Way.all)
  func ofARetriedStoreTheLastAttemptCounts(_ way: Way) async {
    let (clock, tries) = (clock, Recorder<Int>())
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let script = Script.runs { _ in
      clock.advance(by: .milliseconds(500))
      tries.record(1)
      if tries.count == 1 { throw StageFright() }
    }
    let result = await run(script, way, [.retry(attempts: 2), .timeout(Self.second)])
    expectTimedOut(result)
    #expect(result["stage"].isFinished == true && tries.count == 2)
  }

  /// Whether its attempts are used up, or its error is not retried.
  @Test(arguments: Way.all, [2, 1])
  func timeThatPassesAfterTheLastFailedAttemptDoesNotCount(_ way: Way, attempts: Int) async {
    let (clock, tries) = (VirtualClock(), Recorder<Int>())
    let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
    dispatcher.register(
      middleware: RecordingMiddleware(
        did: { _, _, _ in if tries.count == attempts { clock.advance(by: .seconds(9)) } }))
    let script = Script.runs { _ in
      tries.record(1)
      throw StageFright()
    }
    let retry = DispatchOptions.retry(attempts: 2, where: { _ in attempts == 2 })
    let result = await dispatcher.begin(
      script, way.mode, [retry, .timeout(Self.second)], sends: way.sends
    ).value
    #expect(result.error is StageFright, "\(result)")
    #expect(tries.count == attempts)
    await dispatcher.timersAreGone()
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func aSequenceIsTimedOutByItsLastAction(_ mode: Dispatcher.Mode, hooked: Bool) async {
    let (dispatcher, clock, log) = (dispatcher, clock, log)
    if hooked {
      // After the last action it does not count.
      dispatcher.register(
        middleware: RecordingMiddleware(
          "m", to: log, did: { _, _, _ in clock.advance(by: .milliseconds(400)) }))
    }
    func sequence(_ last: Script) async -> DispatchResult {
      let start: @Sendable () -> DispatchHandle = {
        dispatcher.dispatch(
          actions: [Script.adds("1"), last], mode: mode, options: .timeout(Self.second))
      }
      return mode == .sync ? await onOwnThread { start().resultIfEnded! } : await start().result
    }
    let result = await sequence(late)
    expectTimedOut(result)
    #expect(result.steps.count == 2 && result.steps.allSatisfy(\.isSuccess))
    #expect(result.skippedActionCount == 0)
    #expect(stage.model == ["1", "late"])
    #expect(await sequence(.runs { _ in clock.advance(by: .milliseconds(599)) }).isSuccess)
  }

  @Test(arguments: Way.all)
  func aReductionIsTimedOutToo(_ way: Way) async {
    let clock = clock
    dispatcher.register(store: .reducing("ticks") { clock.advance(by: Self.second) })
    for options in [DispatchOptions.timeout(Self.second), [.timeout(Self.second), .named("tick")]] {
      let task = dispatcher.begin(action: Ping(), way.mode, options, sends: way.sends)
      let result = await task.value
      expectTimedOut(result)
      #expect(result["ticks"].isFinished == true)
    }
  }

  @Test(arguments: [false, true])
  func whatItsCallerWaitsForSetsNoTimerIfItEndsAtOnce(sends: Bool) async {
    let (dispatcher, counts) = (dispatcher, Recorder<Int>())
    let timers = dispatcher.timers
    let store = dispatcher.register(store: .reducing("ticks") { counts.record(timers.count) })
    let options = DispatchOptions.timeout(Self.second)
    if sends {
      #expect(await dispatcher.send(Ping(), mode: .serial, options: options).isSuccess)
    } else {
      await onOwnThread { _ = dispatcher.dispatch(action: Ping(), mode: .sync, options: options) }
    }
    #expect(counts.all == [0] && store.model == 1)
    // Not where it has to wait.
    let (free, log) = (Latch(), log)
    let holder = dispatcher.dispatch(
      action: Script.holds(in: log, until: free), mode: .serial)
    _ = await log.first(1)
    async let other =
      sends
      ? dispatcher.send(Ping(), mode: .serial, options: options)
      : onOwnThread {
        dispatcher.dispatch(
          action: Ping(), mode: .sync, options: [.after(holder), .timeout(Self.second)]
        )
        .resultIfEnded!
      }
    await dispatcher.timersAreSet(1)
    free.open()
    #expect(await other.isSuccess && store.model == 2)
  }

  /// Limits that have passed by the time at which anything can have run.
  @Test(arguments: Way.all)
  func ofANanosecondEachIsTimedOut(_ way: Way) async {
    let (dispatcher, _) = makeStage()
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    var successes = 0
    for _ in 0..<Load.count(300) {
      let result = await dispatcher.begin(
        .adds("x"), way.mode, .timeout(.nanoseconds(1)), sends: way.sends
      ).value
      if result.isSuccess { successes += 1 }
    }
    #expect(successes == 0)
    let handles = (0..<Load.count(300)).map { _ in
      counter.dispatch(.add(1), mode: .async, options: .timeout(.nanoseconds(1)))
    }
    for handle in handles { #expect(await handle.result.dispatchError?.code == .timedOut) }
    await dispatcher.timersAreGone()
  }
}

/// A clock on which sleeps last until they are cancelled.
private final class SleeplessClock: Clock {
  typealias Instant = VirtualClock.Instant

  private let clock: VirtualClock

  init(_ clock: VirtualClock) {
    self.clock = clock
  }

  var now: Instant { clock.now }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    await Latch().openedOrCancelled()
    throw CancellationError()
  }
}
