import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Rates and joins with what else controls dispatches.
@Suite("Control: pairs with rates and joins", .timeLimit(.minutes(10)))
struct RatePairTests {
  var (clock, dispatcher, stage) = makeClockedStage()
  let attempts = Recorder<Int>()

  private func dispatch(
    _ name: String, _ mode: Dispatcher.Mode, _ options: DispatchOptions
  ) -> DispatchHandle {
    dispatcher.dispatch(action: Script.adds(name), mode: mode, options: options)
  }

  private static let retrying = DispatchOptions.retry(
    attempts: 2, backoff: .constant(.seconds(1)))

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndLimitOneThatIsDelayedHasAUnit(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1)
    let delayed = dispatch("1", mode, [.debounced("k", for: .seconds(1)), .limited(by: limit)])
    let other = dispatch("2", mode, .limited(by: limit))
    #expect(await other.result.errorCode == .limitExceeded)
    await clock.pass(.seconds(1))
    #expect(await delayed.result.isSuccess)
    #expect(await dispatch("3", mode, .limited(by: limit)).result.isSuccess)
    #expect(limit.statistics.inFlight == 0 && limit.statistics.admitted == 2)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndLimitOneThatIsDelayedMayBeDropped(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .dropOldest)
    let options = [.debounced("k", for: .seconds(1)), .limited(by: limit)] as DispatchOptions
    let handles = (1...3).map { dispatch("\($0)", mode, options) }
    for handle in handles.dropLast() {
      #expect(await handle.result.errorCode == .dropped)
    }
    await clock.pass(.seconds(1))
    #expect(await handles[2].result.isSuccess && stage.model == ["3"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [1, 2])
  func rateAndLimitANewerOneNeedsAUnitOfItsOwn(mode: Dispatcher.Mode, bound: Int) async {
    let limited = DispatchOptions.limited(by: DispatchLimit(bound))
    for options in [.debounced("k", for: .seconds(1)), .delayed(by: .seconds(1), name: "k")]
      as [DispatchOptions]
    {
      let (older, newer) = (
        dispatch("older", mode, [options, limited]), dispatch("newer", mode, [options, limited])
      )
      let (ended, kept) = bound == 1 ? (newer, older) : (older, newer)
      #expect(await ended.result.errorCode == (bound == 1 ? .limitExceeded : .skipped))
      await clock.pass(.seconds(1))
      #expect(await kept.result.isSuccess)
    }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndLimitOneThatIsSkippedLeavesItsUnit(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(2)
    let options = [.throttled("k", per: .seconds(1)), .limited(by: limit)] as DispatchOptions
    #expect(await dispatch("1", mode, options).result.isSuccess)
    for _ in 0..<5 { #expect(await dispatch("x", mode, options).result.errorCode == .skipped) }
    #expect(limit.statistics.inFlight == 0)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndLimitOneThatIsSkippedDropsNoOther(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .dropOldest)
    let options = [.throttled("k", per: .seconds(60)), .limited(by: limit)] as DispatchOptions
    dispatcher.queue.isSuspended = true
    let first = dispatch("1", mode, options)
    let second = dispatch("2", mode, options)
    #expect(await second.result.errorCode == .skipped)
    dispatcher.queue.isSuspended = false
    #expect(await first.result.isSuccess && stage.model == ["1"])
    #expect(limit.statistics.admitted == 1 && limit.statistics.dropped == 0)
  }

  /// It opens no interval.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndBreakerTheFirstOfAnIntervalIsRefusedAtTheCall(mode: Dispatcher.Mode) async {
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(1))
    let failing = Script.runs { _ in throw StageFright() }
    await dispatcher.send(failing, options: .guarded(by: breaker))
    let limit = DispatchLimit(1, overflow: .dropOldest)
    let options =
      [.throttled("k", per: .seconds(60)), .guarded(by: breaker), .limited(by: limit)]
      as DispatchOptions
    dispatcher.queue.isSuspended = true
    let first = dispatch("1", mode, .limited(by: limit))
    let refused = dispatch("x", mode, options)
    #expect(refused.resultIfEnded?.errorCode == .circuitOpen)
    dispatcher.queue.isSuspended = false
    #expect(await first.result.isSuccess && limit.statistics.dropped == 0)
    clock.advance(by: .seconds(1))
    #expect(await dispatch("2", mode, options).result.isSuccess)
    #expect(stage.model == ["1", "2"])
  }

  /// It opens no interval.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndRateLimitTheFirstOfAnIntervalIsRejectedAtTheCall(mode: Dispatcher.Mode) async {
    let rate = DispatchOptions.rateLimited(by: RateLimit(1, per: .seconds(1)))
    #expect(await dispatch("1", mode, rate).result.isSuccess)
    let options = [.throttled("k", per: .seconds(60)), rate] as DispatchOptions
    dispatcher.queue.isSuspended = true
    let rejected = dispatch("x", mode, options)
    #expect(rejected.resultIfEnded?.errorCode == .rateLimitExceeded)
    dispatcher.queue.isSuspended = false
    clock.advance(by: .seconds(1))
    #expect(await dispatch("2", mode, options).result.isSuccess)
    #expect(stage.model == ["1", "2"])
  }

  /// Another dispatch takes the last token between the check of all options and the admission.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndRateLimitOneThatIsRejectedAsItBeginsLeavesNoInterval(mode: Dispatcher.Mode) async {
    let (dispatcher, others) = (dispatcher, Recorder<DispatchHandle>())
    let (limit, keyed) = (RateLimit(1, per: .seconds(1)), RateLimit(9, per: .seconds(1)))
    let key = ComparedKey()
    func options() -> DispatchOptions {
      [
        .throttled("k", per: .seconds(60)), .rateLimited(by: limit),
        .rateLimited(by: keyed, key: key),
      ]
    }
    // The limit compares its keys from now on.
    #expect(await dispatch("0", mode, .rateLimited(by: keyed, key: key)).result.isSuccess)
    key.whenComparedNext {
      let isMade = Latch()
      Thread.detachNewThread {
        others.record(
          dispatcher.dispatch(
            action: Script.adds("1"), mode: .async, options: .rateLimited(by: limit)))
        isMade.open()
      }
      isMade.wait()
    }
    #expect(await dispatch("x", mode, options()).result.errorCode == .rateLimitExceeded)
    #expect(await others.first(1)[0].result.isSuccess)
    clock.advance(by: .seconds(1))
    #expect(await dispatch("2", mode, options()).result.isSuccess)
    #expect(stage.model == ["0", "1", "2"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndLimitOneThatIsSkippedExtendsItsInterval(mode: Dispatcher.Mode) async {
    let options =
      [
        .debounced("k", for: .seconds(1), edges: .leading), .limited(by: DispatchLimit(1)),
      ] as DispatchOptions
    #expect(await dispatch("1", mode, options).result.isSuccess)
    for _ in 0..<3 {
      clock.advance(by: .milliseconds(600))
      #expect(await dispatch("x", mode, options).result.errorCode == .skipped)
    }
    clock.advance(by: .seconds(1))
    #expect(await dispatch("2", mode, options).result.isSuccess)
    #expect(stage.model == ["1", "2"])
  }

  /// The options that decide when or whether a dispatch begins have no effect on a group, also beside a limit.
  @Test(arguments: GroupForm.allCases)
  func aGroupDoesNotHeedWhatIsForItsSteps(_ form: GroupForm) async {
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(60))
    let options =
      [
        .limited(by: DispatchLimit(1, overflow: .dropNewest)), .idempotencyKey("key"),
        .throttled("k", per: .seconds(60)), .guarded(by: breaker),
        .rateLimited(by: RateLimit(1, per: .seconds(60))),
      ] as DispatchOptions
    #expect(await dispatcher.send(Script.adds("0"), options: options).isSuccess)
    let failing = Script.runs { _ in throw StageFright() }
    #expect(await !dispatcher.send(failing, options: .guarded(by: breaker)).isSuccess)
    let group = ActionGroup { Script.adds("step") }
    #expect(await form.runHere(group, by: dispatcher, options: options).isSuccess)
    #expect(stage.model == ["0", "step"])
  }

  /// An attempt is no dispatch that comes.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndRetryAttemptsDoNotCount(mode: Dispatcher.Mode) async {
    let retried = dispatcher.dispatch(
      action: Script.failsOnce(noting: attempts), mode: mode,
      options: [Self.retrying, .throttled("k", per: .seconds(2))])
    // The end of the interval, and of the pause, which comes before that.
    await dispatcher.timersAreSet(2)
    clock.advance(by: .seconds(1))
    #expect(await retried.result.isSuccess && attempts.count == 2)
    let options = DispatchOptions.throttled("k", per: .seconds(1))
    #expect(await dispatch("x", mode, options).result.errorCode == .skipped)
    clock.advance(by: .seconds(1))
    #expect(await dispatch("next", mode, options).result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndUnlessInFlightADelayIsInFlight(mode: Dispatcher.Mode) async {
    let options = [.debounced("k", for: .seconds(1)), .skippedIfInFlight("one")] as DispatchOptions
    let first = dispatch("1", mode, options)
    #expect(await dispatch("2", mode, options).result.errorCode == .skipped)
    await clock.pass(.seconds(1))
    #expect(await first.result.isSuccess && stage.model == ["1"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func rateAndGroupAStepIsDelayed(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let group = Task {
      await dispatcher.send(
        ActionGroup {
          ActionStep(
            Script.adds("1"), mode: .init(mode)!, options: .debounced("k", for: .seconds(1)))
          ActionStep(Script.adds("2"), mode: .init(mode)!)
        })
    }
    await clock.pass(.seconds(1))
    #expect(await group.value.isSuccess && stage.model == ["1", "2"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func joinAndRateOneThatIsDelayedIsJoined(mode: Dispatcher.Mode) async {
    let first = dispatch(
      "1", mode, [.idempotencyKey("id", remembered: .zero), .debounced("k", for: .seconds(1))])
    let second = dispatch(
      "2", mode, [.idempotencyKey("id", remembered: .zero), .debounced("k", for: .seconds(1))])
    let newer = dispatch("3", mode, .debounced("k", for: .seconds(1)))
    #expect(await first.result.errorCode == .skipped)
    #expect(await second.result.errorCode == .skipped, "It ends as the one that it has joined.")
    await clock.pass(.seconds(1))
    #expect(await newer.result.isSuccess && stage.model == ["3"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func joinAndRetryAPauseIsInFlight(mode: Dispatcher.Mode) async {
    let first = dispatcher.dispatch(
      action: Script.failsOnce(noting: attempts), mode: mode,
      options: [Self.retrying, .idempotencyKey("id", remembered: .zero)])
    await clock.waitForSleepers(atLeast: 1)
    let second = dispatch("2", mode, .idempotencyKey("id", remembered: .zero))
    clock.advance(by: .seconds(1))
    let (one, two) = (await first.result, await second.result)
    #expect(one.isSuccess && two.isSuccess && one.dispatchID == two.dispatchID)
    #expect(two.stores.map(\.attemptCount) == [2] && stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func joinAndLimitOneThatJoinsTakesNoUnit(mode: Dispatcher.Mode) async {
    for overflow in [DispatchLimit.Overflow.reject, .wait, .dropOldest] {
      let (free, dispatcher) = (Latch(), dispatcher)
      let limit = DispatchLimit(1, overflow: overflow)
      let options =
        [.idempotencyKey("id", remembered: .zero), .limited(by: limit)] as DispatchOptions
      let first = dispatcher.dispatch(
        action: Script.suspends { _ in await free.opened() }, mode: mode, options: options)
      let second = dispatch("2", mode, options)
      let third = Task.immediate {
        await dispatcher.send(Script.adds("3"), mode: .async, options: options)
      }
      free.open()
      #expect(await first.result.isSuccess)
      #expect(await second.result.isSuccess)
      #expect(await third.value.isSuccess)
      #expect(limit.statistics.inFlight == 0)
    }
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func joinAndDispatcherLimitsOneThatJoinsTakesNoUnit(mode: Dispatcher.Mode) async {
    let (clock, free) = (clock, Latch())
    let dispatcher = Dispatcher(
      name: "limited",
      limits: DispatchLimits(
        perLane: 1, overflow: .reject, queue: DispatchLimit(1, overflow: .reject)), clock: clock)
    dispatcher.addStage()
    let first = dispatcher.dispatch(
      action: Script.suspends { _ in await free.opened() }, mode: mode,
      options: .idempotencyKey("id", remembered: .zero))
    let second = dispatcher.dispatch(
      action: Script.adds("2"), mode: mode, options: .idempotencyKey("id", remembered: .zero))
    let sent = Task.immediate {
      await dispatcher.send(
        Script.adds("3"), mode: mode, options: .idempotencyKey("id", remembered: .zero))
    }
    let third = dispatcher.dispatch(action: Script.adds("4"), mode: mode)
    #expect(await third.result.errorCode == .limitExceeded)
    free.open()
    #expect(await first.result.isSuccess)
    #expect(await second.result.isSuccess)
    #expect(await sent.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func joinAndNameAndInheritanceItEndsWithTheBlockThatMadeIt(mode: Dispatcher.Mode) async {
    let (free, dispatcher, handles) = (Latch(), dispatcher, Recorder<DispatchHandle>())
    let first = dispatcher.dispatch(
      action: Script.suspends { _ in await free.opened() }, mode: .async,
      options: .idempotencyKey("id", remembered: .zero))
    let parent = dispatcher.dispatch(
      action: Script.suspends { _ in
        handles.record(
          dispatcher.dispatch(
            action: Script.adds("x"), mode: mode,
            options: [.idempotencyKey("id", remembered: .zero), .named("inner")]))
        try await Task.sleep(for: .seconds(3_600))
      })
    let inner = await handles.first(1)[0]
    #expect(dispatcher.dispatches(named: "inner") == [inner])
    parent.cancel()
    #expect(await inner.result.error is CancellationError)
    free.open()
    #expect(await first.result.isSuccess)
  }
}

/// A key that runs code when it is compared, as another thread that comes meanwhile.
private final class ComparedKey: Hashable, Sendable {
  private let body = Locked<(@Sendable () -> Void)?>(nil)

  func whenComparedNext(_ body: @escaping @Sendable () -> Void) {
    self.body.withLock { $0 = body }
  }

  static func == (one: ComparedKey, other: ComparedKey) -> Bool {
    one.body.exchange(nil)?()
    return true
  }

  func hash(into hasher: inout Hasher) {}
}
