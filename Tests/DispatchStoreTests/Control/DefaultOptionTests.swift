import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Default options", .timeLimit(.minutes(10)))
struct DefaultOptionTests {
  static let second = Duration.seconds(1)
  static let ways = Way.all

  let clock = VirtualClock()
  let log = Recorder<String>()

  private func makeDispatcher(
    _ defaults: DispatchOptions, limits: DispatchLimits? = nil
  ) -> Dispatcher {
    let dispatcher = Dispatcher(name: "shop", defaults: defaults, limits: limits, clock: clock)
    dispatcher.addStage()
    return dispatcher
  }

  private var untilCancelled: Script { .holds(in: log) }

  private func holds(until free: Latch) -> Script { .holds(in: log, until: free) }

  private var fails: Script {
    .runs { [log] _ in
      log.record("ran")
      throw StageFright()
    }
  }

  // MARK: Time

  @Test(arguments: ways, [.seconds(Int64.max), nil] as [Duration?])
  func aTimeLimitWithoutEndTakesTheDefaultOneAway(_ way: Way, _ limit: Duration?) async {
    let (dispatcher, free) = (makeDispatcher(.timeout(Self.second)), Latch())
    let task = dispatcher.begin(holds(until: free), way.mode, .timeout(limit), sends: way.sends)
    _ = await log.first(1)
    clock.advance(by: .seconds(9))
    free.open()
    #expect(await task.value.isSuccess)
  }

  @Test(arguments: ways)
  func endADispatchThatNamesNoTimeLimit(_ way: Way) async {
    let dispatcher = makeDispatcher(.timeout(Self.second))
    let task = dispatcher.begin(untilCancelled, way.mode, [], sends: way.sends)
    _ = await log.first(1)
    await clock.pass(Self.second)
    let result = await task.value
    #expect(result.dispatchError?.code == .timedOut)
    #expect(result.dispatchError?.timeLimit == Self.second)
  }

  @Test(arguments: ways, [false, true])
  func areReplacedByADispatchsOwnTimeLimit(_ way: Way, isInstant: Bool) async {
    let dispatcher = makeDispatcher(.timeout(Self.second))
    let own: DispatchOptions =
      isInstant ? .deadline(clock.now.advanced(by: .seconds(3))) : .timeout(.seconds(3))
    let task = dispatcher.begin(untilCancelled, way.mode, own, sends: way.sends)
    _ = await log.first(1)
    await clock.pass(.seconds(2))
    await clock.pass(Self.second)
    #expect(await task.value.dispatchError?.timeLimit == .seconds(3))
  }

  /// A block's dispatch times out at the enclosing deadline, or at its own default if that is sooner.
  @Test(arguments: ways, [Duration.milliseconds(400), .seconds(5)])
  func theSoonerOfADefaultAndAnInheritedDeadlineWins(
    _ way: Way, _ limit: Duration
  ) async {
    let outer = makeDispatcher(.timeout(Self.second))
    let inner = Dispatcher(defaults: .timeout(limit), clock: clock)
    inner.addStage()
    let (nested, results) = (untilCancelled, Recorder<DispatchResult>())
    let task = outer.begin(
      .suspends { _ in
        // Without a task in between, which would have no enclosing block.
        results.record(await inner.run(nested, way))
      }, .async, [])
    _ = await log.first(1)
    await clock.pass(min(limit, Self.second), sleepers: 2)
    let result = await results.first(1)[0]
    #expect(!result.isSuccess)
    // A task that sends is cancelled at the deadline of the block around it.
    if !way.sends || limit < Self.second { #expect(result.dispatchError?.code == .timedOut) }
    clock.advance(by: Self.second)
    _ = await task.value
  }

  /// A group that its caller does not await has a longer limit, by default or of its own.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.SendMode.everyMode, [false, true])
  func theSoonerOfTheLimitOfAGroupAndAnInheritedDeadlineWins(
    _ mode: Dispatcher.SendMode, isDefault: Bool
  ) async {
    let long = DispatchOptions.timeout(.seconds(60))
    let dispatcher = makeDispatcher(isDefault ? long : [])
    let (nested, handles) = (untilCancelled, Recorder<ActionGroupHandle>())
    let group = ActionGroup {
      Script.adds("first")
      ActionStep(nested, mode: mode)
    }
    let caller = dispatcher.dispatch(
      action: Script.runs { _ in
        handles.record(dispatcher.dispatch(group, options: isDefault ? [] : long))
      }, options: .timeout(Self.second))
    await caller.ended()
    _ = await log.first(1)
    await clock.pass(Self.second)
    let result = await handles.first(1)[0].result
    #expect(result.outcomes == "+-")
    #expect(result.errorCode == .timedOut)
  }

  // MARK: Retry

  @Test(arguments: ways, [false, true])
  func retryADispatchUnlessItNamesARetry(_ way: Way, namesOne: Bool) async {
    let dispatcher = makeDispatcher(.retry(attempts: 3))
    let own: DispatchOptions = namesOne ? .retry(attempts: 1) : []
    let result = await dispatcher.begin(fails, way.mode, own, sends: way.sends).value
    #expect(!result.isSuccess)
    #expect(log.all.count == (namesOne ? 1 : 3))
  }

  // MARK: Limits

  @Test(arguments: ways)
  func limitADispatchThatNamesNoLimitExceptInSync(_ way: Way) async {
    let limit = DispatchLimit(1, overflow: .reject)
    let (dispatcher, free) = (makeDispatcher(.limited(by: limit)), Latch())
    let holder = dispatcher.dispatch(action: holds(until: free))
    _ = await log.first(1)
    let result = await dispatcher.begin(.adds("x"), way.mode, [], sends: way.sends).value
    #expect(result.errorCode == (way.mode == .sync ? nil : .limitExceeded))
    // A limit of its own, or none, replaces the default one.
    let other = DispatchLimit(1, overflow: .reject)
    for options in [DispatchOptions.limited(by: other), .limited()] {
      #expect(
        await dispatcher.begin(.adds("y"), way.mode, options, sends: way.sends).value.isSuccess)
    }
    #expect(other.statistics.admitted == 1)
    free.open()
    await holder.ended()
  }

  @Test func addToTheBoundsOfLanesAndQueue() async {
    let limit = DispatchLimit(2, overflow: .reject)
    let dispatcher = makeDispatcher(.limited(by: limit), limits: DispatchLimits(perLane: 1))
    let free = Latch()
    let holder = dispatcher.dispatch(action: holds(until: free), mode: .serial)
    _ = await log.first(1)
    #expect(
      await dispatcher.dispatch(action: fails, mode: .serial).result.errorCode == .limitExceeded)
    #expect(limit.statistics.inFlight == 1)
    let own = dispatcher.dispatch(action: fails, mode: .serial, options: .limited())
    #expect(await own.result.errorCode == .limitExceeded)
    free.open()
    await holder.ended()
  }

  // MARK: Once per dispatch

  @Test(arguments: Dispatcher.Mode.everyMode)
  func applyToASequenceAsAWhole(_ mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .reject)
    let dispatcher = makeDispatcher([.timeout(Self.second), .limited(by: limit)])
    let actions: [any ActionType] = [Script.adds("first"), untilCancelled, Script.adds("last")]
    let task = Task { [mode] in
      mode == .sync
        ? await onOwnThread { dispatcher.dispatch(actions: actions, mode: mode).resultIfEnded! }
        : await dispatcher.dispatch(actions: actions, mode: mode).result
    }
    _ = await log.first(1)
    await clock.pass(Self.second)
    #expect(await task.value.dispatchError?.code == .timedOut)
    #expect(limit.statistics.admitted == (mode == .sync ? 0 : 1))
  }

  @Test(arguments: GroupForm.InMode.all)
  func applyToAGroupAsAWholeAndNotToItsSteps(_ form: GroupForm.InMode) async {
    let limit = DispatchLimit(1, overflow: .reject)
    let dispatcher = makeDispatcher(
      [.timeout(Self.second), .limited(by: limit), .retry(attempts: 3)])
    let failing = fails
    let failed = await form.run(
      ActionGroup {
        ActionStep(Script.adds("first"), mode: form.mode)
        ActionStep(failing, mode: form.mode)
      }, by: dispatcher)
    #expect(failed.outcomes == "+-")
    #expect(log.all == ["ran"])
    #expect(limit.statistics.admitted == 1)
    let held = untilCancelled
    let task = Task {
      await form.run(ActionGroup { ActionStep(held, mode: form.mode) }, by: dispatcher)
    }
    _ = await log.first(2)
    await clock.pass(Self.second)
    #expect(await task.value.errorCode == .timedOut)
  }

  @Test func doNotApplyToALongLivedEffectButToWhatItDispatches() async {
    let dispatcher = makeDispatcher(.timeout(Self.second))
    let (held, free) = (untilCancelled, Latch())
    let results = Recorder<DispatchResult>()
    let token = dispatcher.register(
      effect: .longLived { context in
        results.record(await context.send(held).result)
        await free.opened()
        results.record(await context.send(Script.adds("later")).result)
      })
    _ = await log.first(1)
    await clock.pass(Self.second)
    #expect(await results.first(1)[0].dispatchError?.code == .timedOut)
    clock.advance(by: .seconds(9))
    free.open()
    #expect(await results.first(2)[1].isSuccess)
    withExtendedLifetime(token) {}
  }

  @Test func applyToADispatchMadeInAnExclusiveSection() async {
    let dispatcher = makeDispatcher(.retry(attempts: 2))
    let (failing, handles) = (fails, Recorder<DispatchHandle>())
    dispatcher.store(with: "stage").map { $0 as! Stage }!.updateModel { [dispatcher] _ in
      handles.record(dispatcher.dispatch(action: failing))
    }
    await handles.all[0].ended()
    #expect(log.all.count == 2)
  }

  // MARK: Misuse

  @Test func otherOptionsStopTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Dispatcher(name: "shop", defaults: [.timeout(.seconds(1)), .exclusive("key")])
    }
    #expect(
      result.message.contains("The defaults of dispatcher \"shop\" have the option \"exclusive\""))
  }

  @Test func durabilityAsADefaultStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Dispatcher(name: "shop", defaults: .durability(.memory))
    }
    #expect(
      result.message.contains("The defaults of dispatcher \"shop\" have the option \"durability\""))
  }
}
