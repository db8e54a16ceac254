import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Long-lived effects", .timeLimit(.minutes(10)))
struct LongLivedEffectTests {
  let log = Recorder<String>()

  private func waiting(_ name: String = "run") -> Effect {
    .longLived { [log] _ in
      log.record("+\(name)")
      do { try await waits(for: Latch()) } catch { log.record("-\(name)") }
    }
  }

  @Test func runFromTheirRegistrationUntilTheyAreUnregistered() async {
    let (dispatcher, log) = (Dispatcher(), log)
    let registration = dispatcher.register(effect: waiting())
    _ = await log.first(1)
    #expect(registration.runCount == 1)
    #expect(registration.unregister())
    #expect(await log.first(2) == ["+run", "-run"])
    registration.restart()
    #expect(log.count == 2)
    do {
      let token = dispatcher.register(effect: waiting("scoped")).token()
      _ = await log.first(3)
      withExtendedLifetime(token) {}
    }
    #expect(await log.first(4).last == "-scoped")
  }

  @Test func dispatchUnderATransactionOfTheirOwn() async {
    let (dispatcher, transactions) = (Dispatcher(), Recorder<DispatchID?>())
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Cue.self) { _, context in transactions.record(context.dispatchID) })
    dispatcher.register(
      effect: .longLived { context in
        transactions.record(context.dispatchID)
        #expect(context.result == nil)
        for _ in 0..<2 { await context.send(Cue()) }
      })
    _ = await transactions.first(3)
    #expect(await dispatcher.drain().isComplete)
    #expect(Set(transactions.all.compactMap(\.self)).count == 3)
  }

  @Test func restartAfterFailuresWithALimitAndABackoff() async {
    let (clock, log) = (VirtualClock(), log)
    let dispatcher = Dispatcher(clock: clock)
    let warnings = dispatcher.recordWarnings()
    let registration = dispatcher.register(
      effect: .longLived(restart: .onFailure(limit: 2, backoff: .constant(.seconds(10)))) {
        context in
        log.record("\(context.attempt) \(clock.now.offset)")
        throw StageFright()
      }.onFailure { _, _ in log.record("failed") })
    for run in 1...2 {
      _ = await log.first(2 * run)
      await clock.pass(.seconds(10))
    }
    _ = await log.first(6)
    #expect(
      log.all == [
        "1 0.0 seconds", "failed", "2 10.0 seconds", "failed", "3 20.0 seconds", "failed",
      ])
    #expect(warnings.all == Array(repeating: .effectFailed, count: 3))
    #expect(await dispatcher.drain().isComplete)
    #expect(registration.runCount == 0)
  }

  @Test func countFailuresInARowAndARunThatHasLastedBeginsAnew() async {
    let (clock, log) = (VirtualClock(), log)
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.onWarning { _ in }
    // The second run lasts, so that the failure at its end is the first again.
    let end = Latch()
    let restart = EffectRestart.onFailure(
      limit: 1, backoff: .exponential(from: .seconds(1)), resetAfter: .seconds(10))
    let registration = dispatcher.register(
      effect: .longLived(restart: restart) { context in
        log.record("\(context.attempt) \(clock.now.offset)")
        if context.attempt == 2 { await end.opened() }
        throw StageFright()
      }.onFailure { _, context in log.record("failed") })
    _ = await log.first(2)
    await clock.pass(.seconds(1))
    _ = await log.first(3)
    clock.advance(by: .seconds(10))
    end.open()
    _ = await log.first(4)
    await clock.pass(.seconds(1))
    _ = await log.first(6)
    #expect(
      log.all == [
        "1 0.0 seconds", "failed", "2 1.0 seconds", "failed", "3 12.0 seconds", "failed",
      ])
    #expect(await dispatcher.drain().isComplete)
    #expect(registration.runCount == 0)
  }

  @Test func aDelayEndsWhereTheEffectIsUnregistered() async {
    let (clock, log) = (VirtualClock(), log)
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.onWarning { _ in log.record("failed") }
    let registration = dispatcher.register(
      effect: .longLived(restart: .onFailure(backoff: .constant(.seconds(10)))) { _ in
        throw StageFright()
      })
    _ = await log.first(1)
    await clock.waitForSleepers(atLeast: 1)
    registration.unregister()
    #expect(await dispatcher.drain().isComplete)
    #expect(log.count == 1)
  }

  @Test func areRestartedByTheProgramAfterTheFormerRunHasEnded() async {
    let (dispatcher, log) = (Dispatcher(), log)
    let registration = dispatcher.register(effect: waiting())
    _ = await log.first(1)
    registration.restart()
    #expect(await log.first(3) == ["+run", "-run", "+run"])
    registration.cancel()
    #expect(await log.first(4).last == "-run")
    #expect(await dispatcher.dispatch(action: Cue()).result.isSuccess)
    registration.restart()
    #expect(await log.first(5).last == "+run")
    registration.unregister()
    _ = await log.first(6)
  }

  enum End: CaseIterable { case close, shutDown, drain }

  @Test(arguments: End.allCases)
  func areCancelledWhereTheirDispatcherIsClosed(_ end: End) async {
    let (dispatcher, log) = (Dispatcher(), log)
    let stage = dispatcher.addStage()
    let registration = dispatcher.register(
      effect: .longLived(restart: .onFailure()) { context in
        log.record("+")
        try? await waits(for: Latch())
        // Of a task that is not cancelled.
        let result = await Task.detached { stage.dispatch(Script.adds("last"), mode: .sync) }.value
        log.record("\(await result.result.isSuccess)")
        throw StageFright()
      })
    _ = await log.first(1)
    switch end {
    case .close: dispatcher.close()
    case .shutDown: dispatcher.shutDown()
    case .drain: break
    }
    #expect(await dispatcher.drain().isComplete)
    #expect(log.count == 2)
    registration.restart()
    #expect(registration.runCount == 0)
    dispatcher.register(effect: waiting())
    #expect(log.count == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func doNotBeginIfWorkUnderWayRegistersThemWithAClosedDispatcher(_ mode: Dispatcher.Mode) async {
    let (dispatcher, effect) = (Dispatcher(), waiting())
    dispatcher.addStage()
    let registers = Script.runs { _ in
      dispatcher.close()
      dispatcher.register(effect: effect)
    }
    await dispatcher.perform(registers, mode)
    #expect(await dispatcher.drain().isComplete)
    #expect(log.count == 0)
  }
}

@Suite("Effects at the end of their dispatcher", .timeLimit(.minutes(10)))
struct EffectLifecycleTests {
  static let modes = Dispatcher.Mode.everyMode
  let dispatcher = Dispatcher()
  let log = Recorder<String>()

  @Test(arguments: modes, EffectPolicy.allCases)
  func aDrainWaitsForTheirRunsWhichMayDispatchMeanwhile(
    _ mode: Dispatcher.Mode, _ policy: EffectPolicy
  ) async {
    let (log, free) = (log, Latch())
    let stage = dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Cue.self, policy: policy) { cue, context in
        log.record("+")
        await free.opened()
        await context.send(Script.adds("sent"))
        context.dispatch(Script.adds("dispatched"))
      })
    let count = policy == .serial || policy == .concurrent ? 2 : 1
    for number in 0..<count {
      await dispatcher.dispatch(action: Cue(number: number), mode: mode).ended()
    }
    _ = await log.first(1)
    dispatcher.close()
    #expect(await dispatcher.drain(timeout: .zero).isComplete == false)
    async let drained = dispatcher.drain().isComplete
    free.open()
    #expect(await drained)
    #expect(stage.model.count == 2 * count)
    #expect(dispatcher.dispatch(action: Cue(), mode: .sync).resultIfEnded?.isSuccess == false)
  }

  @Test func afterAShutDownNoneBegins() async {
    let (log, free) = (log, Latch())
    dispatcher.addStage()
    dispatcher.register(effect: Effect(Script.self) { _, _ in log.record("effect") })
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in
        log.record("block")
        await free.opened()
      })
    _ = await log.first(1)
    dispatcher.shutDown()
    free.open()
    await handle.settled()
    #expect(log.all == ["block"])
    #expect(await dispatcher.drain().isComplete)
  }

  @Test(arguments: [false, true])
  func afterAShutDownNoneBeginsThatWaitsForItsTurn(isKeyed: Bool) async {
    let (log, free) = (log, Latch())
    let body: @Sendable (Cue, EffectContext) async throws -> Void = { _, _ in
      log.record("effect")
      await free.opened()
    }
    dispatcher.register(
      effect: isKeyed
        ? Effect(Cue.self, policy: .serial, per: { $0.number }, body)
        : Effect(Cue.self, policy: .serial, body))
    let handles = (0..<3).map { _ in dispatcher.dispatch(action: Cue(), mode: .sync) }
    _ = await log.first(1)
    dispatcher.shutDown()
    free.open()
    for handle in handles { await handle.settled() }
    #expect(log.all == ["effect"])
    #expect(await dispatcher.drain().isComplete)
  }

  @Test func aDispatcherThatIsDroppedLivesUntilTheirRunsHaveEnded() async {
    let (log, free) = (log, Latch())
    weak var weakDispatcher: Dispatcher?
    let handle: DispatchHandle
    do {
      let dispatcher = Dispatcher()
      weakDispatcher = dispatcher
      dispatcher.register(
        effect: Effect(Cue.self) { _, context in
          await free.opened()
          log.record("\(await context.send(Echo()).isSuccess)")
        })
      handle = dispatcher.dispatch(action: Cue(), mode: .sync)
    }
    #expect(weakDispatcher != nil)
    free.open()
    await handle.settled()
    #expect(log.all == ["true"])
  }
}
