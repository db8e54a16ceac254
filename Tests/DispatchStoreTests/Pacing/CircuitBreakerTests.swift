import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Circuit breakers", .timeLimit(.minutes(10)))
struct CircuitBreakerTests {
  let stage = PacingStage()
  var dispatcher: Dispatcher { stage.dispatcher }
  var clock: VirtualClock { stage.clock }
  var log: Recorder<String> { stage.log }

  private func breaker(failures: Int = 1, trials: Int = 1) -> CircuitBreaker {
    CircuitBreaker(failures: failures, pause: .seconds(1), trials: trials, name: "bank")
  }

  /// A breaker that is open since now.
  private func opened(trials: Int = 1) async -> CircuitBreaker {
    let breaker = breaker(trials: trials)
    await dispatcher.send(stage.fails(), options: .guarded(by: breaker))
    #expect(breaker.state == .open)
    return breaker
  }

  // MARK: Open

  @Test(arguments: Way.all)
  func afterFailuresInARowItRefusesUntilItsPauseHasPassed(way: Way) async {
    let breaker = breaker(failures: 2)
    let options = DispatchOptions.guarded(by: breaker)
    for script in [stage.fails(), stage.notes("ok"), stage.fails()] {
      _ = await stage.run(script, way, options).value
      #expect(breaker.state == .closed)
    }
    #expect(breaker.statistics.consecutiveFailures == 1)
    _ = await stage.run(stage.fails(), way, options).value
    #expect(breaker.state == .open)
    clock.advance(by: .milliseconds(250))
    let refused = await stage.run(stage.notes("x"), way, options).value
    #expect(refused.errorCode == .circuitOpen)
    #expect(refused.dispatchError?.retryAfter == .milliseconds(750))
    #expect(refused.dispatchError?.message.contains("\"bank\"") == true)
    clock.advance(by: .milliseconds(750))
    #expect(breaker.state == .open)
    #expect(await stage.run(stage.notes("trial"), way, options).value.isSuccess)
    #expect(breaker.state == .closed)
    #expect(log.all == ["ok at 0", "trial at 1"])
    let figures = breaker.statistics
    #expect(figures.admitted == 5 && figures.rejected == 1 && figures.openings == 1)
  }

  @Test(arguments: Way.all)
  func oneThatItRefusesSkipsNoOtherWhileItsCompletionRuns(way: Way) async {
    let (breaker, codes) = (await opened(), Recorder<DispatchError.Code?>())
    let options: DispatchOptions = [.guarded(by: breaker), .skippedIfInFlight("one")]
    let (dispatcher, script) = (dispatcher, stage.notes("x"))
    let first = dispatcher.begin(script, way.mode, options, sends: way.sends) { _ in
      dispatcher.dispatch(script, options: options) { codes.record($0.errorCode) }
    }
    #expect(await first.value.errorCode == .circuitOpen)
    #expect(await codes.first(1) == [.circuitOpen])
  }

  @Test(arguments: Way.queued)
  func oneThatWaitsForItsTurnIsRefusedThenNotOnlyAtTheCall(way: Way) async {
    let (breaker, free, begun) = (breaker(), Latch(), Latch())
    let options = DispatchOptions.guarded(by: breaker)
    // Both need the key, so that they come one after the other in every mode.
    let failing = stage.run(
      Script.suspends { _ in
        begun.open()
        await free.opened()
        throw StageFright()
      }, way, [options, .exclusive("one")])
    await begun.opened()
    let behind = stage.run(stage.notes("x"), way, [options, .exclusive("one")])
    free.open()
    #expect(await failing.value.error is StageFright)
    #expect(await behind.value.errorCode == .circuitOpen)
    #expect(log.all.isEmpty)
    // The thread that was refused leaves its key right after it has given the result.
    while !stage.it.isClean { await Task.yield() }
  }

  @Test(arguments: Way.queued)
  func inItsLaneTheNextGoesOn(way: Way) async {
    let (breaker, free) = (breaker(), Latch())
    let held = await stage.it.begin("held", until: free, way.mode, [])
    let options = DispatchOptions.guarded(by: breaker)
    let failing = stage.run(stage.fails(), way, options)
    let refused = stage.run(stage.notes("x"), way, options)
    free.open()
    _ = await (held.value, failing.value, refused.value)
    #expect(await stage.run(stage.notes("next"), way, []).value.isSuccess)
  }

  @Test func oneThatBeginsLaterIsAskedWhenItsTimeHasCome() async {
    let breaker = await opened()
    let options = DispatchOptions.guarded(by: breaker)
    let later = dispatcher.dispatch(
      action: stage.notes("later"), options: [.delayed(by: .seconds(1)), options])
    let sooner = dispatcher.dispatch(
      action: stage.notes("sooner"), options: [.delayed(by: .milliseconds(500)), options])
    await clock.pass(.milliseconds(500))
    #expect(await sooner.result.errorCode == .circuitOpen)
    await clock.pass(.milliseconds(500))
    #expect(await later.result.isSuccess)
    #expect(breaker.state == .closed)
  }

  @Test func aRepeatOfWhatIsDoneIsAnsweredThoughItIsOpen() async {
    let breaker = breaker()
    let options = [.guarded(by: breaker), .idempotencyKey("order 7")] as DispatchOptions
    #expect(await dispatcher.send(stage.notes("0"), options: options).isSuccess)
    await dispatcher.send(stage.fails(), options: .guarded(by: breaker))
    #expect(await dispatcher.send(stage.notes("0"), options: options).isSuccess)
    let other = [.guarded(by: breaker), .idempotencyKey("order 8")] as DispatchOptions
    #expect(await dispatcher.send(stage.notes("1"), options: other).errorCode == .circuitOpen)
    clock.advance(by: .seconds(1))
    #expect(await dispatcher.send(stage.notes("1"), options: other).isSuccess, "It was forgotten.")
  }

  @Test func oneThatItRefusesGivesItsTokenToTheNext() async {
    let breaker = breaker()
    let limit = RateLimit(1, per: .seconds(1), overflow: .wait)
    let rate = DispatchOptions.rateLimited(by: limit)
    _ = await dispatcher.send(stage.notes("0"), options: rate)
    let refused = dispatcher.dispatch(
      action: stage.notes("x"), options: [rate, .guarded(by: breaker)])
    // Whoever asks first is first, and two threads would ask.
    await limit.waiting(1)
    let next = dispatcher.dispatch(action: stage.notes("1"), options: rate)
    await limit.waiting(2)
    await clock.pass(.milliseconds(500))
    await dispatcher.send(stage.fails(), options: .guarded(by: breaker))
    await clock.pass(.milliseconds(500))
    #expect(await refused.result.errorCode == .circuitOpen)
    #expect(await next.result.isSuccess)
    #expect(log.all == ["0 at 0", "1 at 1"])
  }

  @Test func ofSeveralBreakersAllHaveToLetItPass() async {
    let (one, other) = (await opened(), breaker())
    let refused = await dispatcher.send(stage.notes("x"), options: .guarded(by: other, one))
    #expect(refused.errorCode == .circuitOpen)
    #expect(other.state == .closed)
    clock.advance(by: .seconds(1))
    #expect(await dispatcher.send(stage.notes("x"), options: .guarded(by: other, one)).isSuccess)
    #expect(one.state == .closed)
  }

  /// A trial of that one is under way.
  @Test(arguments: Way.queued)
  func oneThatAnotherBreakerRefusesIsNotAdmitted(way: Way) async {
    let (other, one, free, begun) = (breaker(), await opened(), Latch(), Latch())
    clock.advance(by: .seconds(1))
    let trial = dispatcher.dispatch(
      action: Script.holds(opening: begun, until: free), mode: .serial(lane: "trial"),
      options: .guarded(by: one))
    await begun.opened()
    let refused = await stage.run(stage.notes("x"), way, .guarded(by: other, one)).value
    #expect(refused.errorCode == .circuitOpen)
    #expect(other.statistics.admitted == 0 && one.statistics.rejected == 1)
    free.open()
    #expect(await trial.result.isSuccess)
  }

  // MARK: Half-open

  @Test(arguments: Way.queued)
  func asManyPassAsThereAreTrialsAndAFailureOpensItAgain(way: Way) async {
    let (breaker, free, begun) = (await opened(trials: 2), Latch(), Recorder<Int>())
    clock.advance(by: .seconds(1))
    let options = DispatchOptions.guarded(by: breaker)
    func trial(_ index: Int, fails: Bool) async -> Task<DispatchResult, Never> {
      let lane: Dispatcher.Mode = way.mode == .async ? .async : .serial(lane: index)
      let task = stage.run(
        Script.suspends { _ in
          begun.record(index)
          await free.opened()
          if fails { throw StageFright() }
        }, Way(mode: lane, sends: way.sends), options)
      _ = await begun.first(index + 1)
      return task
    }
    let trials = [await trial(0, fails: false), await trial(1, fails: true)]
    #expect(breaker.statistics.trialsInFlight == 2)
    let third = await stage.run(stage.notes("x"), way, options).value
    #expect(third.errorCode == .circuitOpen && third.dispatchError?.retryAfter == .seconds(1))
    free.open()
    for task in trials { _ = await task.value }
    #expect(breaker.state == .open && breaker.statistics.openings == 2)
  }

  enum Ending: CaseIterable { case cancelled, vetoed, refused }

  @Test(arguments: Way.queued, Ending.allCases)
  func aTrialThatSaysNothingFreesItsPlaceForAnother(way: Way, ending: Ending) async {
    let breaker = await opened()
    clock.advance(by: .seconds(1))
    let options = DispatchOptions.guarded(by: breaker)
    let begun = Latch()
    dispatcher.register(middleware: RecordingMiddleware.vetoing("vetoed"))
    switch ending {
    case .cancelled:
      let trial = stage.run(
        Script.suspends { _ in
          begun.open()
          let forever = Latch()
          await forever.openedOrCancelled()
          try Task.checkCancellation()
        }, way, [options, .named("trial")])
      await begun.opened()
      #expect(breaker.statistics.trialsInFlight == 1)
      dispatcher.cancel(named: "trial")
      #expect(await trial.value.error is CancellationError)
    case .vetoed:
      #expect(
        await stage.run(.adds("vetoed"), way, options).value.errorCode == .vetoed)
    case .refused:
      let other = await opened()
      let trial = await stage.run(stage.notes("x"), way, [options, .guarded(by: other)]).value
      #expect(trial.errorCode == .circuitOpen)
    }
    #expect(breaker.state != .closed && breaker.statistics.trialsInFlight == 0)
    #expect(await stage.run(stage.notes("next"), way, options).value.isSuccess)
    #expect(breaker.state == .closed)
  }

  // MARK: What counts

  /// Also if its block goes on, and its caller waits for that.
  @Test(arguments: Way.all)
  func aTimeoutCountsAtTheDeadline(way: Way) async {
    let (breaker, free, begun) = (breaker(), Latch(), Latch())
    let timed = stage.run(
      Script.holds(opening: begun, until: free), way,
      [.guarded(by: breaker), .timeout(.seconds(1))])
    await begun.opened()
    await stage.clock.pass(.seconds(1))
    while breaker.state != .open { await Task.yield() }
    free.open()
    #expect(await timed.value.errorCode == .timedOut)
    await dispatcher.drain()
    #expect(breaker.statistics.openings == 1)
  }

  /// Its block blocks that thread, or it is a list.
  @Test(arguments: [false, true])
  func aTimeoutCountsAtTheDeadlineThoughItsCallersThreadWaits(isList: Bool) async {
    let (dispatcher, breaker, free, begun) = (dispatcher, breaker(), Latch(), Latch())
    let options: DispatchOptions = [.guarded(by: breaker), .timeout(.seconds(1))]
    let timed = Task {
      await onOwnThread {
        let handle =
          isList
          ? dispatcher.dispatch(
            actions: [Script.holds(opening: begun, until: free)], mode: .sync, options: options)
          : dispatcher.dispatch(
            action: Script.blocks(opening: begun, until: free), mode: .sync, options: options)
        return handle.resultIfEnded?.errorCode
      }
    }
    await begun.opened()
    await stage.clock.pass(.seconds(1))
    while breaker.state != .open { await Task.yield() }
    free.open()
    #expect(await timed.value == .timedOut)
    #expect(breaker.statistics.openings == 1)
  }

  /// The dependency has answered by then, or was not called.
  @Test(arguments: Way.queued, [false, true])
  func aTimeoutThatTheDatabaseCausesIsNoFailure(way: Way, isHeldBack: Bool) async throws {
    let (breaker, clock) = (breaker(), VirtualClock())
    let bank = try await PersistenceStage(
      limits: isHeldBack ? .suspending(commits: 1) : .suspending(), clock: clock)
    try await bank.persistence.flush()
    bank.database.hold()
    if isHeldBack {
      await bank.dispatcher.send(SetNote(note: "unsaved"), options: .durability(.memory))
    }
    let timed = bank.run(
      Deposit(account: "ann", amount: 1), way,
      options: [.guarded(by: breaker), .exclusive("key"), .timeout(.seconds(1))])
    while breaker.statistics.admitted == 0 { await Task.yield() }
    if !isHeldBack {
      await bank.reached(1)
      // The key is free once the stores have ended, and only saving is left.
      await bank.dispatcher.send(
        SetNote(note: "x"), options: [.exclusive("key"), .durability(.memory)])
    }
    clock.advance(by: .seconds(1))
    #expect(await timed.value.errorCode == .timedOut)
    #expect(breaker.state == .closed)
    bank.database.release()
    try await bank.persistence.flush()
  }

  @Test(arguments: Way.queued)
  func cancellationsVetoesAndRefusalsDoNotCount(way: Way) async {
    let breaker = breaker()
    let options = DispatchOptions.guarded(by: breaker)
    dispatcher.register(middleware: RecordingMiddleware(will: { _, _, _ in .veto(reason: "no") }))
    #expect(await stage.run(stage.notes("x"), way, options).value.errorCode == .vetoed)
    #expect(
      await stage.run(stage.notes("x"), way, [options, .timeout(.zero)]).value.errorCode
        == .timedOut)
    let task = Task { [dispatcher, stage] in
      await dispatcher.send(stage.notes("x"), mode: way.mode, options: options)
    }
    task.cancel()
    _ = await task.value
    #expect(breaker.state == .closed && breaker.statistics.consecutiveFailures == 0)
  }

  enum Cancellation: CaseIterable { case ofDispatch, ofTask, atDeadline }

  /// Client libraries throw errors of their own when their task is cancelled.
  @Test(arguments: Way.queued, Cancellation.allCases)
  func whatAHandlerThrowsAfterACancellationDoesNotCount(
    way: Way, cancellation: Cancellation
  ) async {
    let (breaker, begun) = (breaker(), Latch())
    let call = Script.suspends { _ in
      begun.open()
      let forever = Latch()
      await forever.openedOrCancelled()
      throw StageFright()
    }
    let limit: DispatchOptions = cancellation == .atDeadline ? .timeout(.seconds(1)) : []
    let result = stage.run(call, way, [.guarded(by: breaker), .named("call"), limit])
    await begun.opened()
    switch cancellation {
    case .ofTask where way.sends: result.cancel()
    case .ofDispatch, .ofTask: dispatcher.cancel(named: "call")
    case .atDeadline: await stage.clock.pass(.seconds(1))
    }
    if cancellation == .atDeadline {
      #expect(await result.value.errorCode == .timedOut)
    } else {
      #expect(await result.value.error is StageFright)
    }
    #expect(breaker.state == (cancellation == .atDeadline ? .open : .closed))
  }

  /// Nothing tells whether that one has reached the dependency.
  @Test(arguments: Way.queued, [false, true])
  func theErrorOfAnotherDispatchThatAHandlerThrowsDoesNotCount(way: Way, isList: Bool) async {
    let (breaker, full) = (breaker(), DispatchLimit(1, overflow: .reject))
    let dispatcher = dispatcher
    #expect(full.enter(orWait: DispatchLimit.Wait()))
    for (options, code) in [
      (.timeout(.zero), .timedOut), (.limited(by: full), .limitExceeded),
    ] as [(DispatchOptions, DispatchError.Code)] {
      let call = Script.suspends { _ in
        try await dispatcher.send(Script.adds("call"), options: options).get()
      }
      let guarded: DispatchOptions = [.guarded(by: breaker), .timeout(.seconds(1))]
      let result =
        isList
        ? await dispatcher.dispatch(actions: [call], mode: way.mode, options: guarded).result
        : await stage.run(call, way, guarded).value
      #expect(result.errorCode == code && result.hasStarted)
    }
    full.leave()
    #expect(breaker.state == .closed && breaker.statistics.consecutiveFailures == 0)
  }

  @Test(arguments: Way.all)
  func whatCountsAsAFailureCanBeChosen(way: Way) async {
    struct Declined: Error {}
    let breaker = CircuitBreaker(failures: 2, pause: .seconds(1)) { !($0 is Declined) }
    let options = DispatchOptions.guarded(by: breaker)
    let declined = Script.runs { _ in throw Declined() }
    _ = await stage.run(stage.fails(), way, options).value
    _ = await stage.run(declined, way, options).value
    #expect(breaker.statistics.consecutiveFailures == 0, "The bank has answered.")
    for _ in 0..<2 { _ = await stage.run(stage.fails(), way, options).value }
    #expect(breaker.state == .open)
  }

  @Test(arguments: Way.all)
  func itIsToldBeforeTheCompletion(way: Way) async {
    let (breaker, states) = (breaker(), Recorder<CircuitBreaker.State>())
    let task = dispatcher.begin(
      stage.fails(), way.mode, .guarded(by: breaker), sends: way.sends
    ) { _ in states.record(breaker.state) }
    _ = await task.value
    #expect(states.all == [.open])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func atADeadlineItIsToldBeforeTheCompletion(mode: Dispatcher.Mode) async {
    let (breaker, free, begun) = (breaker(), Latch(), Latch())
    let states = Recorder<CircuitBreaker.State>()
    let script = Script.holds(opening: begun, until: free)
    dispatcher.dispatch(
      script, mode: mode, options: [.guarded(by: breaker), .timeout(.seconds(1))]
    ) { _ in states.record(breaker.state) }
    await begun.opened()
    await stage.clock.pass(.seconds(1))
    #expect(await states.first(1) == [.open])
    free.open()
  }

  @Test(arguments: Way.queued)
  func aDispatchWithRetriesCountsOnceByItsLastAttempt(way: Way) async {
    let (breaker, attempts) = (breaker(failures: 2), Recorder<Int>())
    let result = await stage.run(
      Script.runs { _ in
        attempts.record(0)
        if attempts.count < 3 { throw StageFright() }
      }, way, [.guarded(by: breaker), .retry(attempts: 3)]
    ).value
    #expect(result.isSuccess && breaker.statistics.consecutiveFailures == 0)
    _ = await stage.run(stage.fails(), way, [.guarded(by: breaker), .retry(attempts: 3)]).value
    #expect(breaker.statistics.consecutiveFailures == 1 && breaker.statistics.admitted == 2)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aSequenceCountsOnce(mode: Dispatcher.Mode) async {
    let breaker = breaker(failures: 2)
    let list = dispatcher.dispatch(
      actions: [stage.notes("a"), stage.fails(), stage.notes("b")], mode: mode,
      options: [.guarded(by: breaker), .continuingOnFailure])
    _ = await list.result
    #expect(breaker.statistics.consecutiveFailures == 1 && breaker.statistics.admitted == 1)
  }

  @Test func anEndFromBeforeTheLastChangeDoesNotCount() async {
    let (breaker, free, begun) = (breaker(), Latch(), Latch())
    let options = DispatchOptions.guarded(by: breaker)
    let early = dispatcher.dispatch(
      action: Script.suspends { _ in
        begun.open()
        await free.opened()
        throw StageFright()
      }, options: options)
    await begun.opened()
    await dispatcher.send(stage.fails(), options: options)
    clock.advance(by: .seconds(1))
    #expect(await dispatcher.send(stage.notes("trial"), options: options).isSuccess)
    free.open()
    #expect(await early.result.error is StageFright)
    #expect(breaker.state == .closed && breaker.statistics.consecutiveFailures == 0)
  }

  // MARK: Watched and shared

  @Test func itsChangesAreReportedInOrder() async {
    let changes = Recorder<CircuitBreaker.State>()
    let breaker = CircuitBreaker(
      failures: 1, pause: .seconds(1), onChange: { changes.record($0) })
    let options = DispatchOptions.guarded(by: breaker)
    await dispatcher.send(stage.fails(), options: options)
    await dispatcher.send(stage.notes("refused"), options: options)
    clock.advance(by: .seconds(1))
    await dispatcher.send(stage.fails(), options: options)
    clock.advance(by: .seconds(1))
    await dispatcher.send(stage.notes("ok"), options: options)
    #expect(changes.all == [.open, .halfOpen, .open, .halfOpen, .closed])
  }

  /// Each inner change is reported after the one in whose report it was made.
  @Test func aReportMayDispatchThroughTheBreaker() async {
    let (changes, dispatcher, stage) = (Recorder<CircuitBreaker.State>(), dispatcher, stage)
    let box = Recorder<CircuitBreaker>()
    let onChange: @Sendable (CircuitBreaker.State) -> Void = { state in
      changes.record(state)
      guard state == .open, changes.count == 1 else { return }
      stage.clock.advance(by: .seconds(1))
      dispatcher.dispatch(
        action: stage.notes("inner"), mode: .sync, options: .guarded(by: box.all[0]))
      changes.record(state)
    }
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(1), onChange: onChange)
    box.record(breaker)
    await dispatcher.send(stage.fails(), options: .guarded(by: breaker))
    #expect(changes.all == [.open, .open, .halfOpen, .closed])
  }

  @Test func severalDispatchersMayShareIt() async {
    let breaker = await opened()
    let other = Dispatcher(clock: clock)
    other.addStage()
    let options = DispatchOptions.guarded(by: breaker)
    let refused = await other.send(stage.notes("x"), options: options)
    #expect(refused.errorCode == .circuitOpen)
    #expect(refused.dispatchError?.retryAfter == .seconds(1), "By the clock of the first one.")
    clock.advance(by: .seconds(1))
    #expect(await other.send(stage.notes("x"), options: options).isSuccess)
    #expect(await dispatcher.send(stage.notes("x"), options: options).isSuccess)
  }

  @Test func manyThreadsAgreeOnTheTrials() async {
    let (breaker, dispatcher) = (breaker(trials: 3), dispatcher)
    let options = DispatchOptions.guarded(by: breaker)
    for round in 1...20 {
      await dispatcher.send(stage.fails(), options: options)
      clock.advance(by: .seconds(1))
      let begun = Recorder<Int>()
      await onOwnThreads(8) { index in
        dispatcher.dispatch(
          action: Script.runs { _ in begun.record(index) }, mode: .sync, options: options)
      }
      #expect(breaker.state == .closed && begun.count >= 3)
      #expect(breaker.statistics.openings == round)
    }
  }
}
