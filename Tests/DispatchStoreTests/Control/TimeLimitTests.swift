import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Time limits", .timeLimit(.minutes(10)))
struct TimeLimitTests {
  static let second = Duration.seconds(1)

  var (clock, dispatcher, stage) = makeClockedStage()
  let log = Recorder<String>()

  private struct Add: ActionType {}

  @Test(arguments: Way.all.filter { $0.mode != .sync })
  func endsAReductionThatIsHeldBackUntilChangesAreDelivered(_ way: Way) async {
    let dispatcher = Dispatcher(queue: .wide(4), clock: clock)
    let counter = dispatcher.register(
      store: Store(identifier: "counter", model: 0) { On(Add.self) { count, _ in count += 1 } })
    let (isDelivering, free) = (Latch(), Latch())
    let token = counter.observe(.model) { _ in
      isDelivering.open()
      free.wait()
    }
    dispatcher.dispatch(Add())
    await isDelivering.opened()
    dispatcher.dispatch(Add())
    while counter.version < 2 { await Task.yield() }
    let task = dispatcher.begin(action: Add(), way.mode, .timeout(Self.second), sends: way.sends)
    await clock.pass(Self.second)
    #expect(await task.value.dispatchError?.code == .timedOut)
    free.open()
    await dispatcher.drain()
    #expect(counter.model == 2)
    token.cancel()
  }

  /// A block that notes that it has begun, and runs until a latch opens, whatever becomes of its dispatch.
  private func holds(until free: Latch) -> Script {
    .suspends { [log] _ in
      log.record("began")
      await free.opened()
    }
  }

  /// One that runs until it is cancelled.
  private var untilCancelled: Script {
    let cancelled = Latch()
    return .suspends { [log] _ in
      log.record("began")
      await cancelled.openedOrCancelled()
      log.record("cancelled")
      try Task.checkCancellation()
    }
  }

  /// Runs in a mode, `.sync` on a thread of its own, or sends.
  private func run(
    _ script: Script, _ mode: Dispatcher.Mode, _ options: DispatchOptions, sends: Bool = false
  ) -> Task<DispatchResult, Never> {
    dispatcher.begin(script, mode, options, sends: sends) { [log] result in
      log.record("completion \(result.dispatchError.map { "\($0.code)" } ?? "finished")")
    }
  }

  /// The result is there once the completion has run, whether the block has ended by then or not.
  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func theirCompletionCanNotWaitForTheResult(_ mode: Dispatcher.Mode, isOver: Bool) async {
    let free = Latch()
    let own = Locked<DispatchHandle?>(nil)
    let inner = Recorder<DispatchResult?>()
    let handle = dispatcher.dispatch(holds(until: free), mode: mode, options: .timeout(Self.second))
    { [dispatcher] _ in
      let handle = own.withLock { $0! }
      if isOver {
        free.open()
        while !handle.isOver { sched_yield() }
      }
      inner.record(
        dispatcher.dispatch(action: Script.adds("inner"), mode: .sync, options: .after(handle))
          .resultIfEnded)
    }
    own.withLock { $0 = handle }
    _ = await log.first(1)
    await clock.pass(.seconds(1))
    #expect(await inner.first(1).first??.errorCode == .wouldDeadlock)
    await handle.ended()
    free.open()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func thatPassWhileABlockRunsEndTheDispatchAtTheDeadline(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let handle = dispatcher.dispatch(holds(until: free), mode: mode, options: .timeout(Self.second))
    { [log] result in log.record("completion \(result.dispatchError!.code)") }
    _ = await log.first(2)
    await clock.pass(.milliseconds(999))
    #expect(!handle.hasEnded)
    clock.advance(by: .milliseconds(1))
    let result = await handle.result
    expectTimedOut(result)
    #expect(result["stage"].wasCancelled(afterItsStart: true), "\(result)")
    #expect(log.all == ["m will stage", "began", "completion timedOut"])
    // The block still runs; its hook follows.
    let next = dispatcher.dispatch(
      action: Script.runs { [log] _ in log.record("next") }, mode: mode)
    if mode == .async { await next.ended() } else { #expect(!next.hasEnded) }
    free.open()
    await next.ended()
    _ = await log.first(7)
    #expect(log.all.filter { $0 == "completion timedOut" }.count == 1)
    if mode != .async {
      #expect(log.all.suffix(3) == ["m did stage", "next", "m did stage"])
    }
    #expect(await handle.result.dispatchError?.code == .timedOut)
  }

  @Test(arguments: Way.all)
  func cancelTheBlock(_ way: Way) async {
    let task = run(untilCancelled, way.mode, .timeout(Self.second), sends: way.sends)
    _ = await log.first(1)
    await clock.pass(Self.second)
    expectTimedOut(await task.value)
    let parts = await log.first(3)
    #expect(parts.sorted() == ["began", "cancelled", "completion timedOut"])
    // With `.sync` and in a task all of it follows the block.
    if way.sends || way.mode == .sync { #expect(parts.last == "completion timedOut") }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func inSyncAndInTasksTheResultFollowsTheBlock(_ mode: Dispatcher.Mode) async {
    let (free, log) = (Latch(), log)
    let stubborn = Script.suspends { _ in
      log.record("began")
      await withTaskCancellationHandler {
        await free.opened()
      } onCancel: {
        log.record("cancelled")
      }
    }
    let task = run(stubborn, mode, .timeout(Self.second), sends: mode != .sync)
    _ = await log.first(1)
    await clock.pass(Self.second)
    #expect(await log.first(2) == ["began", "cancelled"])
    free.open()
    let result = await task.value
    expectTimedOut(result)
    #expect(result["stage"].isFinished == true)
    #expect(log.all == ["began", "cancelled", "completion timedOut"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aDetachedSendReturnsAtTheDeadline(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let task = run(holds(until: free), mode, [.timeout(Self.second), .detached], sends: true)
    _ = await log.first(1)
    await clock.pass(Self.second)
    let result = await task.value
    free.open()
    expectTimedOut(result)
    #expect(result["stage"].wasCancelled(afterItsStart: true), "\(result)")
    #expect(log.all == ["began", "completion timedOut"])
    await dispatcher.drain()
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func thatPassWhileItWaitsForItsTurnEndItWithoutARun(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (free, log) = (Latch(), log)
    let holder = dispatcher.dispatch(action: holds(until: free), mode: mode)
    _ = await log.first(1)
    let task = run(.runs { _ in log.record("ran") }, mode, .timeout(Self.second), sends: sends)
    await clock.pass(Self.second)
    let result = await task.value
    expectTimedOut(result)
    #expect(result["stage"].wasCancelled(afterItsStart: false), "\(result)")
    #expect(!holder.hasEnded)
    free.open()
    await dispatcher.dispatch(action: Script.runs { _ in log.record("next") }, mode: mode).ended()
    #expect(log.all == ["began", "completion timedOut", "next"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatPassWhileItWaitsForAnotherEndIt(_ mode: Dispatcher.Mode) async {
    let (free, log) = (Latch(), log)
    let other = dispatcher.dispatch(action: holds(until: free), mode: .serial(lane: "other"))
    let task = run(
      .runs { _ in log.record("ran") }, mode, [.after(other), .timeout(Self.second)])
    await clock.pass(Self.second)
    expectTimedOut(await task.value)
    #expect(!other.hasEnded)
    free.open()
    await other.ended()
    #expect(!log.all.contains("ran"))
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [Duration.zero, .seconds(-1)])
  func thatHavePassedRunNothingAndCallNoMiddleware(_ mode: Dispatcher.Mode, _ limit: Duration) async
  {
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let script = Script.runs { [log] _ in log.record("ran") }
    let result = await run(script, mode, .timeout(limit)).value
    expectTimedOut(result, after: .zero)
    #expect(result["stage"].isCancelled == true)
    let past = await run(script, mode, .deadline(clock.now.advanced(by: limit))).value
    expectTimedOut(past, after: .zero)
    if mode != .sync {
      let sent = await run(script, mode, .timeout(limit), sends: true).value
      expectTimedOut(sent, after: .zero)
    }
    let list = await dispatcher.dispatch(
      actions: [script, script], mode: mode, options: .timeout(limit)
    ).result
    expectTimedOut(list, after: .zero)
    #expect(list.steps.isEmpty)
    #expect(log.all.allSatisfy { $0 == "completion timedOut" })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatDoNotPassLeaveNothing(_ mode: Dispatcher.Mode) async {
    for _ in 0..<3 {
      let result = await run(.adds("x"), mode, .timeout(Self.second)).value
      #expect(result.isSuccess)
      if mode != .sync {
        let sent = await run(.adds("x"), mode, .timeout(Self.second), sends: true).value
        #expect(sent.isSuccess)
      }
    }
    await dispatcher.timersAreGone()
    #expect(log.all.allSatisfy { $0 == "completion finished" })
  }

  @Test func theSoonestOfSeveralCounts() async {
    let task = run(
      untilCancelled, .serial,
      [
        .timeout(.seconds(9)), .deadline(clock.now.advanced(by: .seconds(2))),
        .timeout(.seconds(5)),
      ])
    await clock.pass(.seconds(2))
    expectTimedOut(await task.value, after: .seconds(2))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func theEndBeforeTheStoresNamesWhatHasEndedAndWhatHasNot(_ mode: Dispatcher.Mode) async {
    let (free, log) = (Latch(), log)
    dispatcher.addStage("after", waitFor: ["middle"])
    dispatcher.addStage("middle", waitFor: ["stage"])
    dispatcher.addDesk()
    let script = Script.runs { store in
      log.record(store.identifier)
      if store.identifier == "middle" { free.wait() }
    }
    let handle = dispatcher.dispatch(action: script, mode: mode, options: .timeout(Self.second))
    _ = await log.first(2)
    await clock.pass(Self.second)
    let result = await handle.result
    expectTimedOut(result)
    #expect(result.stores.map(\.storeIdentifier) == ["stage", "middle", "after"])
    #expect(
      result.stores.map { "\($0.outcome)" } == ["finished", "cancelled", "cancelled"])
    free.open()
    await dispatcher.dispatch(
      storeIdentifier: "desk", action: Errand.adds("next"), mode: mode
    ).ended()
    #expect(log.all == ["stage", "middle"])
  }

  /// The deadline comes while the end of the last store compares the clock.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func theEndBeforeTheStoresKnowsThoseThatHaveJustEnded(_ mode: Dispatcher.Mode) async {
    let (clock, free, hasCompleted) = (clock, Latch(), Latch())
    let asked = AskedClock(clock)
    let dispatcher = Dispatcher(clock: asked)
    dispatcher.addStage()
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in await free.opened() }, mode: mode,
      options: .timeout(Self.second)
    ) { hasCompleted.open() }
    await clock.waitForSleepers(atLeast: 1)
    asked.questions.record {
      clock.advance(by: Self.second)
      hasCompleted.wait()
    }
    free.open()
    let result = await handle.result
    expectTimedOut(result)
    #expect(result["stage"].isFinished == true, "\(result)")
  }

  private struct Sell: ActionType {
    typealias Reply = String
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func theEndBeforeTheStoresHasTheRepliesOfThoseThatHaveFinished(
    _ mode: Dispatcher.Mode
  ) async throws {
    let (began, free) = (Latch(), Latch())
    let stock = dispatcher.register(
      store: Store(identifier: "stock", model: 0) {
        On(Sell.self) { count, _ in
          count -= 1
          return "receipt"
        }
      })
    dispatcher.register(
      store: Store(identifier: "audit", model: 0) {
        Perform(withoutReply: Sell.self) { _, _ in
          began.open()
          free.wait()
        }
      }, waitFor: ["stock"])
    let handle = dispatcher.dispatch(Sell(), mode: mode, options: .timeout(Self.second))
    await began.opened()
    await clock.pass(Self.second)
    let result = await handle.result
    free.open()
    expectTimedOut(result)
    #expect(result["stock"].isFinished && !result["audit"].isFinished)
    #expect(try result.reply(to: Sell.self, from: stock) == "receipt")
    #expect(result.replies(to: Sell.self) == ["stock": "receipt"])
    await dispatcher.drain()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func storesThatRunRegardlessFollowTheBlock(_ mode: Dispatcher.Mode) async {
    let (free, log) = (Latch(), log)
    dispatcher.addStage("audit", waitFor: WaitFor(["stage"], runsRegardless: true))
    let script = Script.runs { store in
      log.record(store.identifier)
      if store.identifier == "stage" { free.wait() }
    }
    let handle = dispatcher.dispatch(action: script, mode: mode, options: .timeout(Self.second))
    _ = await log.first(1)
    await clock.pass(Self.second)
    expectTimedOut(await handle.result)
    #expect(log.all == ["stage"])
    free.open()
    #expect(await log.first(2) == ["stage", "audit"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func afterTheirDeadlineTheHookAtTheEndGetsTheResultOfTheHandle(_ mode: Dispatcher.Mode) async {
    let (free, log, ends) = (Latch(), log, Recorder<DispatchResult>())
    dispatcher.register(middleware: EndHook { _, result in ends.record(result) })
    let script = Script.runs { _ in
      log.record("began")
      free.wait()
    }
    let handle = dispatcher.dispatch(action: script, mode: mode, options: .timeout(Self.second))
    _ = await log.first(1)
    await clock.pass(Self.second)
    let result = await handle.result
    free.open()
    let ended = await ends.first(1)[0]
    #expect(result["stage"].isCancelled == true)
    #expect("\(ended)" == "\(result)")
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSequenceEndsWithTheStepsThatHaveEnded(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let handle = dispatcher.dispatch(
      actions: [Script.adds("1"), holds(until: free), Script.adds("3")], mode: mode,
      options: .timeout(Self.second))
    _ = await log.first(1)
    await clock.pass(Self.second)
    let result = await handle.result
    expectTimedOut(result)
    #expect(result.steps.count == 1)
    #expect(result.skippedActionCount == 2)
    free.open()
    await dispatcher.dispatch(action: Script.adds("4"), mode: mode).ended()
    #expect(stage.model == ["1", "4"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func ofAnExclusiveSectionsDispatchesCountFromTheCall(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, clock) = (dispatcher, log, clock)
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let script = Script.runs { _ in log.record("ran") }
    let handle = counter.updateModel { _ in
      defer { clock.advance(by: Self.second) }
      return dispatcher.dispatch(action: script, mode: mode, options: .timeout(Self.second))
    }
    expectTimedOut(await handle.result)
    #expect(log.all.isEmpty)
  }

  @Test func ofWhatAnExclusiveSectionsTaskSendsCountFromTheCall() async {
    let (dispatcher, log, clock) = (dispatcher, log, clock)
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let script = Script.runs { _ in log.record("ran") }
    let task = counter.updateModel { _ in
      defer { clock.advance(by: Self.second) }
      return Task.immediate {
        await dispatcher.send(script, options: .timeout(Self.second)).result
      }
    }
    expectTimedOut(await task.value)
    #expect(log.all.isEmpty)
  }

  @Test func isNamedAsStatedThoughItsTaskHadToWait() async {
    let (dispatcher, clock, never) = (dispatcher, clock, Latch())
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let script = Script.suspends { _ in await never.openedOrCancelled() }
    let task = counter.updateModel { _ in
      defer { clock.advance(by: Self.second / 2) }
      return Task.immediate {
        await dispatcher.send(script, options: .timeout(Self.second)).result
      }
    }
    await clock.pass(Self.second / 2)
    let error = await task.value.dispatchError
    #expect(error?.code == .timedOut && error?.timeLimit == Self.second)
  }

  /// Also while the main actor is busy.
  @Test(arguments: [false, true])
  func ofWhatIsSentToTheMainActorCountsFromTheCall(isDefault: Bool) async {
    let dispatcher = Dispatcher(
      defaults: isDefault ? .timeout(Self.second) : [], clock: clock)
    dispatcher.addStage()
    let script = Script.runs { [log] _ in log.record("ran") }
    let busy = await BusyMainQueue.begin()
    let sent = Task.immediate {
      await dispatcher.send(
        script, mode: .mainThread, options: isDefault ? [] : .timeout(Self.second)
      ).result
    }
    await clock.pass(Self.second)
    expectTimedOut(await sent.value)
    busy.end()
    #expect(log.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aCompletionAtTheDeadlineMayWaitForItsLane(_ mode: Dispatcher.Mode) async {
    let (free, dispatcher, log) = (Latch(), dispatcher, log)
    let handle = dispatcher.dispatch(holds(until: free), mode: mode, options: .timeout(Self.second))
    { _ in
      let next = dispatcher.dispatch(action: Script.adds("next"), mode: mode)
      free.open()
      log.record("next \(next.wait().isSuccess)")
    }
    _ = await log.first(1)
    await clock.pass(Self.second)
    expectTimedOut(await handle.result)
    #expect(log.all == ["began", "next true"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aWaitForTheLaneOfOneThatHasTimedOutIsRefusedWhereItsBlockWaits(
    _ mode: Dispatcher.Mode
  ) async {
    let (dispatcher, log, free) = (dispatcher, log, Latch())
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in
        log.record("began")
        await free.opened()
        let inner = await dispatcher.dispatch(
          action: Script.adds("inner"), mode: mode, options: .detached
        ).result
        log.record("\(inner.dispatchError.map { "\($0.code)" } ?? "finished")")
      }, mode: mode, options: .timeout(Self.second))
    _ = await log.first(1)
    await clock.pass(Self.second)
    await handle.ended()
    free.open()
    #expect(await log.first(2) == ["began", "wouldDeadlock"])
  }

  @Test func byTheSystemsClock() async {
    let (dispatcher, _) = makeStage()
    // Both count from about here.
    let began = ContinuousClock.now
    for options in [
      DispatchOptions.timeout(.milliseconds(5)),
      .deadline(ContinuousClock.now.advanced(by: .milliseconds(5))),
    ] {
      let result = await dispatcher.dispatch(action: untilCancelled, options: options).result
      #expect(result.dispatchError?.code == .timedOut)
      #expect(ContinuousClock.now - began >= .milliseconds(4))
    }
    await dispatcher.timersAreGone()
  }
}

/// A clock that first calls the closures that were recorded, each once, when it is read.
private final class AskedClock: Clock {
  typealias Instant = VirtualClock.Instant

  let questions = Recorder<@Sendable () -> Void>()
  private let clock: VirtualClock

  init(_ clock: VirtualClock) {
    self.clock = clock
  }

  var now: Instant {
    for question in questions.removeAll() { question() }
    return clock.now
  }

  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}
