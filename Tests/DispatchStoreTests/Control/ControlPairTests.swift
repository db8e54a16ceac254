import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// What controls dispatches, two at a time.
@Suite("Control: pairs", .timeLimit(.minutes(10)))
struct ControlPairTests {
  var (clock, dispatcher, stage) = makeClockedStage()
  let attempts = Recorder<Int>()

  /// Dispatches one that fails once, and returns it in the pause after that.
  private func pausing(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions = DispatchOptions()
  ) async -> DispatchHandle {
    let handle = dispatcher.dispatch(
      action: Script.failsOnce(noting: attempts), mode: mode,
      options: [options, .retry(attempts: 2, backoff: .constant(.seconds(1)))])
    await clock.waitForSleepers(atLeast: 1)
    return handle
  }

  private func passThePause() { clock.advance(by: .seconds(1)) }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func retryAndLimitAUnitIsHeldBetweenTwoAttempts(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1)
    let retried = await pausing(mode, .limited(by: limit))
    let other = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .limited(by: limit))
    #expect(await other.result.errorCode == .limitExceeded)
    #expect(limit.statistics.inFlight == 1)
    passThePause()
    #expect(await retried.result.isSuccess)
    #expect(attempts.count == 2)
    let next = await dispatcher.send(Script.adds("y"), mode: mode, options: .limited(by: limit))
    #expect(next.isSuccess && limit.statistics.admitted == 2)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func retryAndUnlessInFlightAPauseIsInFlight(mode: Dispatcher.Mode) async {
    let retried = await pausing(mode, .skippedIfInFlight("import"))
    let other = dispatcher.dispatch(
      action: Script.adds("x"), mode: mode, options: .skippedIfInFlight("import"))
    #expect(await other.result.errorCode == .skipped)
    passThePause()
    #expect(await retried.result.isSuccess)
    #expect(!stage.model.contains("x"))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func retryAndLatestTheNewestEndsThePause(mode: Dispatcher.Mode) async {
    let retried = await pausing(mode, .cancelsPrevious("search"))
    let newest = dispatcher.dispatch(
      action: Script.adds("newest"), mode: mode, options: .cancelsPrevious("search"))
    #expect(await retried.result.isSuccess == false)
    #expect(await newest.result.isSuccess)
    #expect(attempts.count == 1 && stage.model == ["newest"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func retryAndDrainThePauseIsWaitedFor(mode: Dispatcher.Mode) async {
    let retried = await pausing(mode)
    #expect(await dispatcher.drain(timeout: .zero).isComplete == false)
    let (drain, dispatcher) = (Recorder<Bool>(), dispatcher)
    dispatcher.drain { drain.record($0.isComplete) }
    passThePause()
    #expect(await drain.first(1) == [true])
    #expect(await retried.result.isSuccess)
    #expect(attempts.count == 2)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func groupAndLimitNoMoreStepsRunThanItAllows(mode: Dispatcher.Mode) async {
    let (limit, dispatcher) = (DispatchLimit(2, overflow: .wait), dispatcher)
    let inside = Locked((now: 0, most: 0))
    let result = await dispatcher.send(
      ActionGroup(.concurrent) {
        for index in 0..<12 {
          ActionStep(
            Script.suspends { stage in
              inside.withLock { inside in
                inside.now += 1
                inside.most = max(inside.most, inside.now)
              }
              await Task.yield()
              inside.withLock { $0.now -= 1 }
              stage.updateModel { $0.append("\(index)") }
            }, mode: .init(mode)!, options: .limited(by: limit))
        }
      })
    #expect(result.isSuccess)
    #expect(stage.model.count == 12)
    #expect(inside.withLock(\.most) <= 2)
    #expect(limit.statistics.admitted == 12 && limit.statistics.inFlight == 0)
  }

  /// An option of a group, or of its dispatcher, by which nobody else can cancel the group.
  enum GroupOption: CaseIterable {
    case none, defaultRetry, defaultLimit, retry, limit, skippedIfInFlight, detached, noTimeLimit
    case defaultTimeLimit, timeLimit

    var defaults: DispatchOptions {
      switch self {
      case .defaultRetry: .retry(attempts: 2)
      case .defaultLimit: .limited(by: DispatchLimit(8))
      case .noTimeLimit, .defaultTimeLimit: .timeout(.seconds(1))
      default: []
      }
    }

    var own: DispatchOptions {
      switch self {
      case .retry: .retry(attempts: 2)
      case .limit: .limited(by: DispatchLimit(1))
      case .skippedIfInFlight: .skippedIfInFlight("group")
      case .detached: .detached
      case .noTimeLimit: .timeout(nil)
      case .timeLimit: .timeout(.seconds(1))
      default: []
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, GroupOption.allCases)
  func groupAndLimitAStepThatIsSentSuspendsItsTask(
    mode: Dispatcher.Mode, option: GroupOption
  ) async {
    let dispatcher = Dispatcher(defaults: option.defaults, clock: clock)
    dispatcher.addStage()
    let (bank, ended, names) = (DispatchLimit(1, overflow: .wait), Latch(), Recorder<String>())
    let (started, free) = (Latch(), Latch())
    let held = dispatcher.dispatch(
      action: Script.holds(opening: started, until: free), mode: .serial(lane: "held"),
      options: [.limited(by: bank), .timeout(nil)])
    await started.opened()
    let group = ActionGroup {
      ActionStep(
        Script.suspends { _ in names.record(GroupTrace.name) }, mode: .init(mode)!,
        options: .limited(by: bank))
    }
    let sent = Task {
      let result = await GroupTrace.$name.withValue("task") {
        await dispatcher.send(group, options: option.own)
      }
      ended.open()
      return result
    }
    while bank.statistics.waiting == 0, !ended.isOpen { await Task.yield() }
    #expect(!ended.isOpen)
    free.open()
    #expect(await sent.value.isSuccess)
    #expect(await held.result.isSuccess)
    #expect(names.all == ["task"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [GroupOption.defaultTimeLimit, .timeLimit])
  func groupAndLimitAStepThatIsSentWaitsNoLongerThanTheGroupsTimeLimit(
    mode: Dispatcher.Mode, option: GroupOption
  ) async {
    let dispatcher = Dispatcher(defaults: option.defaults, clock: clock)
    let stage = dispatcher.addStage()
    let bank = DispatchLimit(1, overflow: .wait)
    #expect(bank.enter(orWait: DispatchLimit.Wait()))
    let group = ActionGroup {
      ActionStep(Script.adds("a"), mode: .init(mode)!).compensated(by: Script.adds("-a"))
      ActionStep(Script.adds("b"), mode: .init(mode)!, options: .limited(by: bank))
    }
    let sent = Task { await dispatcher.send(group, options: option.own) }
    while bank.statistics.waiting == 0, stage.model != ["a", "-a"] { await Task.yield() }
    #expect(bank.statistics.waiting == 1)
    await clock.pass(.seconds(1))
    let result = await sent.value
    #expect(result.errorCode == .timedOut && result.outcomes == "+-")
    #expect(stage.model == ["a", "-a"])
    bank.leave()
  }

  /// A step that is dispatched, although its group is sent.
  enum DispatchedStep: CaseIterable { case list, keyedList, detached }

  @Test(arguments: Dispatcher.Mode.queuedModes, DispatchedStep.allCases)
  func groupAndLimitAStepThatIsDispatchedByATaskSuspendsIt(
    mode: Dispatcher.Mode, kind: DispatchedStep
  ) async {
    let (dispatcher, bank, ended) = (dispatcher, DispatchLimit(1, overflow: .wait), Latch())
    #expect(bank.enter(orWait: DispatchLimit.Wait()))
    let (add, stepMode) = (Script.adds("a"), Dispatcher.SendMode(mode)!)
    let limited = DispatchOptions.limited(by: bank)
    let group = ActionGroup {
      switch kind {
      case .list:
        ActionStep([add, add], mode: stepMode, options: limited)
      case .keyedList:
        ActionStep([add, add], mode: stepMode, options: [limited, .idempotencyKey("key")])
      case .detached:
        ActionStep(add, mode: stepMode, options: [limited, .detached])
          .compensated(by: Script.adds("-a"), ifOnlyBegun: true)
      }
    }
    let sent = Task {
      defer { ended.open() }
      return await dispatcher.send(group)
    }
    while bank.statistics.waiting == 0, !ended.isOpen { await Task.yield() }
    #expect(bank.statistics.waiting == 1)
    bank.leave()
    #expect(await sent.value.isSuccess)
    #expect(stage.model == (kind == .detached ? ["a"] : ["a", "a"]))
    #expect(bank.statistics.inFlight == 0)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func groupAndRetryAStepSucceedsByItsSecondAttempt(mode: Dispatcher.Mode) async {
    let (attempts, dispatcher) = (attempts, dispatcher)
    let result = await dispatcher.send(
      ActionGroup {
        ActionStep(
          Script.failsOnce(noting: attempts), mode: .init(mode)!, options: .retry(attempts: 2)
        ).compensated(by: Script.adds("undone"))
        ActionStep(Script.adds("after"), mode: .init(mode)!)
      })
    #expect(result.isSuccess)
    #expect(attempts.count == 2 && stage.model == ["after"])
  }

  /// An option that refuses a dispatch at the call.
  enum Refusal: CaseIterable {
    case single, throttle, breaker, rate, deadline, key

    var code: DispatchError.Code {
      switch self {
      case .single, .throttle: .skipped
      case .breaker: .circuitOpen
      case .rate: .rateLimitExceeded
      case .deadline: .timedOut
      case .key: .invalidIdempotencyKey
      }
    }
  }

  @Test(arguments: Way.queued, Refusal.allCases)
  func limitAndRefusalOneThatIsRefusedAtTheCallTakesNoUnit(way: Way, refusal: Refusal) async {
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(60))
    let options: DispatchOptions =
      switch refusal {
      case .single: .skippedIfInFlight("k")
      case .throttle: .throttled("k", per: .seconds(60))
      case .breaker: .guarded(by: breaker)
      case .rate: .rateLimited(by: RateLimit(1, per: .seconds(60)))
      case .deadline: .deadline(clock.now)
      case .key: .idempotencyKey("")
      }
    if refusal == .breaker {
      await dispatcher.send(Script.runs { _ in throw StageFright() }, options: options)
    }
    let (started, free) = (Latch(), Latch())
    let held = dispatcher.dispatch(
      action: Script.holds(opening: started, until: free), mode: .serial(lane: "held"),
      options: [.breaker, .deadline, .key].contains(refusal) ? [] : options)
    await started.opened()
    var holders: [DispatchHandle] = []
    var refused: [Task<DispatchResult, Never>] = []
    let limits = DispatchLimit.Overflow.allCases.map { DispatchLimit(1, overflow: $0) }
    for limit in limits {
      // It waits behind the one that holds the lane, and so it may be dropped.
      holders.append(
        dispatcher.dispatch(
          action: Script.adds("holder"), mode: .serial(lane: "held"), options: .limited(by: limit)))
      let ended = Latch()
      refused.append(
        dispatcher.begin(
          Script.adds("x"), way.mode, [options, .limited(by: limit)], sends: way.sends
        ) { _ in ended.open() })
      while limit.statistics.waiting == 0, !ended.isOpen { await Task.yield() }
      #expect(ended.isOpen, "It waits for no unit.")
    }
    free.open()
    #expect(await held.result.isSuccess)
    for task in refused { #expect(await task.value.errorCode == refusal.code) }
    for holder in holders { #expect(await holder.result.isSuccess) }
    for limit in limits {
      let figures = limit.statistics
      #expect(figures.admitted == 1 && figures.rejected == 0 && figures.dropped == 0)
    }
    #expect(!stage.model.contains("x"))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func limitAndSingleOneThatIsSkippedHasLeftItsUnitWhenItsCompletionRuns(
    mode: Dispatcher.Mode
  ) async {
    let (limit, dispatcher) = (DispatchLimit(1, overflow: .wait), dispatcher)
    let (free, singleStarted, singleFree) = (Latch(), Latch(), Latch())
    let held = await hold(limit, until: free)
    let inFlight = Recorder<Int>()
    let waits = Task {
      await dispatcher.send(
        Script.adds("x"), mode: mode, options: [.limited(by: limit), .skippedIfInFlight("k")]
      ) { _ in inFlight.record(limit.statistics.inFlight) }
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    let single = dispatcher.dispatch(
      action: Script.holds(opening: singleStarted, until: singleFree),
      mode: .serial(lane: "single"), options: .skippedIfInFlight("k"))
    await singleStarted.opened()
    free.open()
    #expect(await waits.value.errorCode == .skipped)
    #expect(inFlight.all == [0])
    singleFree.open()
    #expect(await held.result.isSuccess)
    #expect(await single.result.isSuccess)
  }

  /// The stores of a dispatch have one unit, until the last of them has ended.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func limitAndWaitForADispatchIsCountedOnce(mode: Dispatcher.Mode) async {
    let (limit, dispatcher, log) = (
      DispatchLimit(1, overflow: .wait), Dispatcher(), Recorder<String>()
    )
    dispatcher.addStage("a")
    dispatcher.addStage("b", waitFor: ["a"])
    let script = Script.suspends { stage in
      log.record("+\(stage.identifier)")
      await Task.yield()
      log.record("-\(stage.identifier)")
    }
    await withDiscardingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          let result = await dispatcher.send(script, mode: mode, options: .limited(by: limit))
          #expect(result.isSuccess)
        }
      }
    }
    #expect(log.all == (0..<4).flatMap { _ in ["+a", "-a", "+b", "-b"] })
    #expect(limit.statistics.admitted == 4)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func limitAndNameWhatWaitsForAUnitHasNoNameYet(mode: Dispatcher.Mode) async {
    let (limit, free, dispatcher) = (DispatchLimit(1, overflow: .wait), Latch(), dispatcher)
    let started = Latch()
    let held = dispatcher.dispatch(
      action: Script.holds(opening: started, until: free), mode: mode,
      options: [.limited(by: limit), .named("job")])
    await started.opened()
    let sent = Task.immediate {
      await dispatcher.send(
        Script.adds("x"), mode: mode, options: [.limited(by: limit), .named("job")]
      ).isSuccess
    }
    #expect(dispatcher.cancel(named: "job") == 1)
    free.open()
    await held.ended()
    #expect(await sent.value)
    #expect(stage.model == ["x"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [DispatchOptions(), .detached])
  func limitAndCloseOneThatIsRefusedHasLeftItsUnitWhenItsCompletionRuns(
    mode: Dispatcher.Mode, options: DispatchOptions
  ) async {
    let (limit, free, dispatcher) = (DispatchLimit(1, overflow: .wait), Latch(), dispatcher)
    let inFlight = Recorder<Int>()
    let held = await hold(limit, until: free)
    let waits = Task {
      await dispatcher.send(
        Script.adds("x"), mode: mode, options: [.limited(by: limit), options]
      ) { _ in inFlight.record(limit.statistics.inFlight) }
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    dispatcher.close()
    free.open()
    #expect(await waits.value.errorCode == .dispatcherClosed)
    #expect(inFlight.all == [0])
    #expect(await held.result.isSuccess)
  }

  /// The time passes once the unit has come, before the task goes on, which needs the main actor.
  @MainActor @Test(arguments: [DispatchOptions(), .detached])
  func limitAndTimeLimitOneThatIsLateHasLeftItsUnitWhenItsCompletionRuns(
    options: DispatchOptions
  ) async {
    let (limit, free, dispatcher) = (DispatchLimit(1, overflow: .wait), Latch(), dispatcher)
    let inFlight = Recorder<Int>()
    let held = await hold(limit, until: free)
    let late = Task { @MainActor in
      await dispatcher.send(
        Script.adds("x"), mode: .mainThread,
        options: [.limited(by: limit), .timeout(.seconds(1)), options]
      ) { _ in inFlight.record(limit.statistics.inFlight) }
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    end(held, opening: free, thenAdvance: clock)
    #expect(await late.value.errorCode == .timedOut)
    #expect(await inFlight.first(1) == [0])
  }

  /// Blocks this thread until a dispatch has ended, and its time limits have passed.
  private func end(
    _ held: DispatchHandle, opening free: Latch, thenAdvance clock: VirtualClock
  ) {
    free.open()
    held.wait()
    clock.advance(by: .seconds(1))
  }

  /// Dispatches an action that has a unit of a limit until the latch opens.
  private func hold(_ limit: DispatchLimit, until free: Latch) async -> DispatchHandle {
    let started = Latch()
    let held = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.holds(opening: started, until: free), mode: .async,
      options: .limited(by: limit))
    await started.opened()
    return held
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func inheritanceAndLimitAWaitEndsWithTheBlock(mode: Dispatcher.Mode) async {
    let (limit, free, dispatcher) = (DispatchLimit(1, overflow: .wait), Latch(), dispatcher)
    dispatcher.addStage("outer")
    let (begun, errors) = (Latch(), Recorder<Bool>())
    let held = await hold(limit, until: free)
    let outer = dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        begun.open()
        let result = await dispatcher.send(
          Script.adds("x"), to: "stage", mode: .serial(lane: "inner"),
          options: .limited(by: limit))
        errors.record(result.isSuccess)
      }, mode: mode, options: .timeout(.seconds(1)))
    await begun.opened()
    await clock.pass(.seconds(1))
    #expect(await outer.result.errorCode == .timedOut)
    #expect(await errors.first(1) == [false])
    free.open()
    #expect(await held.result.isSuccess)
    #expect(!stage.model.contains("x"))
  }

  /// The thread is the program's own, inside of a `.sync` dispatch.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.queuedModes)
  func inheritanceAndLimitAThreadIsBlockedUntilTheDeadlineOfItsBlock(
    mode: Dispatcher.Mode
  ) async {
    let (limit, free, dispatcher) = (DispatchLimit(1, overflow: .wait), Latch(), dispatcher)
    dispatcher.addStage("outer")
    let codes = Recorder<DispatchError.Code?>()
    let held = await hold(limit, until: free)
    let blocks = Script.runs { _ in
      let inner = dispatcher.dispatch(
        storeIdentifier: "stage", action: Script.adds("x"), mode: mode,
        options: .limited(by: limit))
      codes.record(inner.resultIfEnded?.errorCode)
    }
    let outer = Task {
      await onOwnThread {
        dispatcher.dispatch(
          storeIdentifier: "outer", action: blocks, mode: .sync, options: .timeout(.seconds(1))
        ).resultIfEnded
      }
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    clock.advance(by: .seconds(1))
    #expect(await codes.first(1) == [.timedOut])
    _ = await outer.value
    free.open()
    #expect(await held.result.isSuccess)
    #expect(limit.statistics.waiting == 0 && !stage.model.contains("x"))
  }

  /// A dispatch, a group with the options, or the first step of one.
  enum Blocked: CaseIterable { case dispatch, group, step }

  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.everyMode, Blocked.allCases)
  func inheritanceAndLimitABlockThatIsCancelledWhileItsThreadIsBlockedStartsNothing(
    mode: Dispatcher.SendMode, blocked: Blocked
  ) async {
    let (limit, free, dispatcher) = (DispatchLimit(1, overflow: .wait), Latch(), dispatcher)
    for name in ["outer", "other"] { dispatcher.addStage(name) }
    let held = await hold(limit, until: free)
    let options: DispatchOptions = [.limited(by: limit), .cancelsPrevious("k")]
    let (log, otherFree) = (Recorder<String>(), Latch())
    let other = dispatcher.dispatch(
      storeIdentifier: "other", action: Script.holds(in: log, until: otherFree),
      options: .cancelsPrevious("k"))
    _ = await log.first(1)
    let blocks = Script.runs { _ in
      if blocked == .dispatch {
        dispatcher.dispatch(
          storeIdentifier: "stage", action: Script.adds("x"), mode: mode.mode, options: options)
      } else {
        let isStep = blocked == .step
        let step = ActionStep(
          Script.adds("x"), to: "stage", mode: mode, options: isStep ? options : [])
        dispatcher.dispatch(ActionGroup { step }, options: isStep ? [] : options)
      }
    }
    let outer = Task {
      await onOwnThread {
        dispatcher.dispatch(
          storeIdentifier: "outer", action: blocks, mode: .sync, options: .named("outer")
        ).resultIfEnded
      }
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    #expect(dispatcher.cancel(named: "outer") == 1)
    free.open()
    _ = await outer.value
    #expect(await held.result.isSuccess)
    otherFree.open()
    #expect(await other.result.isSuccess)
    #expect(await dispatcher.drain().isComplete)
    #expect(limit.statistics.inFlight == 0 && !stage.model.contains("x"))
  }
}
