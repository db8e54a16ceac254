import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Effects", .timeLimit(.minutes(10)))
struct EffectTests {
  static let modes = Dispatcher.Mode.everyMode

  let dispatcher = Dispatcher(carrying: [CarriedTaskLocal(EffectRequest.$id)])
  let log = Recorder<String>()

  @Test(arguments: modes)
  func beginOnceTheStoresHaveEndedAndTheCompletionHasRun(_ mode: Dispatcher.Mode) async {
    let (log, stage) = (log, dispatcher.addStage())
    dispatcher.addStage("other", waitFor: ["stage"])
    dispatcher.register(
      effect: Effect(Script.self) { script, context in
        log.record("effect of \(script): \(stage.model), \(context.result!.isSuccess)")
      })
    for style in 0..<2 {
      let script =
        style == 0
        ? Script.adds("\(style)")
        : Script.suspends("\(style)") { stage in stage.updateModel { $0.append("1") } }
      dispatcher.dispatch(action: script, mode: mode) { log.record("completion") }
      _ = await log.first(2 * (style + 1))
    }
    #expect(
      log.all == [
        "completion", "effect of 0: [\"0\"], true",
        "completion", "effect of 1: [\"0\", \"1\"], true",
      ])
  }

  @Test func followWhatIsSent() async {
    let log = log
    dispatcher.addStage()
    dispatcher.register(effect: Effect(Script.self) { script, _ in log.record("\(script)") })
    for mode in Dispatcher.Mode.queuedModes {
      await dispatcher.send(Script.adds("sent"), mode: mode)
      await dispatcher.send(Script.suspends("suspended") { _ in await Task.yield() }, mode: mode)
    }
    #expect(await log.first(8).count { $0 == "sent" } == 4)
  }

  @Test func followWhatIsDispatchedToOneStore() async {
    let log = log
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    store.dispatch(.add(1), mode: .sync)
    dispatcher.register(effect: Effect(CounterAction.self) { _, _ in log.record("effect") })
    store.dispatch(.add(1), mode: .sync)
    await store.send(.add(1))
    dispatcher.dispatch(storeIdentifier: "counter", action: CounterAction.add(1), mode: .serial)
    _ = await log.first(3)
    #expect(await dispatcher.drain().isComplete)
    #expect(log.count == 3)
  }

  @Test(arguments: modes)
  func anActionWithoutAStoreIsFollowedAndNotReported(_ mode: Dispatcher.Mode) async {
    let (log, warnings) = (log, dispatcher.recordWarnings())
    dispatcher.register(effect: Effect(Cue.self) { _, _ in log.record("effect") })
    await dispatcher.dispatch(action: Cue(), mode: mode).settled()
    #expect(log.all == ["effect"])
    #expect(warnings.all.isEmpty)
  }

  private class Base: ActionType, @unchecked Sendable {}
  private final class Derived: Base, @unchecked Sendable {}

  @Test func followSubclassesOfAClass() async {
    let log = log
    dispatcher.register(
      effect: Effect(Base.self) { action, _ in log.record("\(type(of: action))") })
    await dispatcher.dispatch(action: Derived()).settled()
    await dispatcher.dispatch(action: Base()).settled()
    #expect(log.all == ["Derived", "Base"])
  }

  @Test func actionsOfOtherTypesCostNothingForThem() {
    dispatcher.register(store: CounterStore.counter("counter"))
    dispatcher.addStage()
    dispatcher.register(effect: Effect(Script.self) { _, _ in })
    func needsPreparation(_ type: any ActionType.Type) -> Bool {
      let route = dispatcher.route(to: type, identifier: nil, on: .current)
      defer { route._withUnsafeGuaranteedRef { $0.end() } }
      return route._withUnsafeGuaranteedRef(\.needsPreparation)
    }
    #expect(!needsPreparation(CounterAction.self))
    #expect(needsPreparation(Script.self))
    #expect(dispatcher.middlewares.isEmpty)
  }

  @Test(arguments: modes)
  func followNoDispatchThatFailedUnlessTheyRunRegardless(_ mode: Dispatcher.Mode) async {
    let log = log
    dispatcher.addStage()
    dispatcher.register(effect: Effect(Script.self) { script, _ in log.record("\(script)") })
    dispatcher.register(
      effect: Effect(Script.self, runsRegardless: true) { script, context in
        log.record("\(script): \(context.result!.isSuccess)")
      })
    let failing = dispatcher.dispatch(
      action: Script.runs("fails") { _ in throw StageFright() }, mode: mode)
    await failing.settled()
    await dispatcher.dispatch(action: Script.adds("adds"), mode: mode).settled()
    #expect(log.all.sorted() == ["adds", "adds: true", "fails: false"])
  }

  @Test func followNoActionThatWasVetoed() async {
    let log = log
    dispatcher.addStage()
    dispatcher.register(middleware: RecordingMiddleware(will: { _, _, _ in .veto(reason: "no") }))
    dispatcher.register(effect: Effect(Script.self) { _, _ in log.record("effect") })
    await dispatcher.dispatch(action: Script.adds("a")).settled()
    #expect(log.all.isEmpty)
  }

  @Test(arguments: modes)
  func followEachActionOfASequence(_ mode: Dispatcher.Mode) async {
    let log = log
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Script.self, policy: .serial) { script, _ in log.record("\(script)") })
    let handle = dispatcher.dispatch(
      actions: [Script.adds("a"), Cue(), Script.adds("b")], mode: mode)
    await handle.settled()
    #expect(log.all == ["a", "b"])
  }

  @Test(arguments: modes)
  func haveAKeyThatNoOtherRunHas(_ mode: Dispatcher.Mode) async {
    let keys = Recorder<String>()
    for _ in 0..<2 {
      dispatcher.register(effect: Effect(Cue.self) { _, context in keys.record(context.key) })
    }
    dispatcher.register(effect: .longLived { context in keys.record(context.key) })
    dispatcher.dispatch(actions: [Cue(), Cue()], mode: mode)
    #expect(await Set(keys.first(5)).count == 5)
  }

  @Test(arguments: modes)
  func whatTheyDispatchHasTheFollowedTransactionAsItsParent(_ mode: Dispatcher.Mode) async {
    let (parents, dispatcher) = (Recorder<DispatchID?>(), dispatcher)
    dispatcher.register(middleware: ParentMiddleware { parents.record($0) })
    dispatcher.register(
      effect: Effect(Cue.self) { _, context in
        await context.send(Echo(), mode: .serial)
        await context.dispatch(Echo(), mode: .async).ended()
        dispatcher.dispatch(action: Echo(), mode: .sync)
        await dispatcher.send(Echo())
        async let child = dispatcher.send(Echo())
        _ = await child
      })
    let handle = dispatcher.dispatch(action: Cue(), mode: mode)
    await handle.settled()
    #expect(parents.all == [nil] + Array(repeating: handle.dispatchID, count: 5))
  }

  private final class ParentMiddleware: Middleware {
    let note: @Sendable (DispatchID?) -> Void

    init(_ note: @escaping @Sendable (DispatchID?) -> Void) {
      self.note = note
    }

    func dispatchWillBegin(_ dispatch: DispatchInfo) { note(dispatch.parent) }
  }

  @Test(arguments: modes, EffectPolicy.allCases)
  func carriedTaskLocalsArrive(_ mode: Dispatcher.Mode, _ policy: EffectPolicy) async {
    let log = log
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Script.self, policy: policy) { script, context in
        log.record("\(script) \(EffectRequest.id)")
        await context.send(Cue())
      })
    dispatcher.register(effect: Effect(Cue.self) { _, _ in log.record(EffectRequest.id) })
    for number in 1...2 {
      await EffectRequest.$id.withValue("\(number)") {
        dispatcher.dispatch(
          action: number == 1
            ? Script.adds("a") : Script.suspends("a") { _ in await Task.yield() }, mode: mode)
      }.settled()
    }
    #expect(log.all == ["a 1", "1", "a 2", "2"])
  }

  @Test(arguments: modes)
  func whatTheyThrowConcernsNothingElseAndIsReported(_ mode: Dispatcher.Mode) async {
    let (log, warnings) = (log, dispatcher.recordWarnings())
    dispatcher.register(
      effect: Effect(Cue.self) { _, _ in
        throw StageFright(place: 1)
      }.onFailure { error, context in
        log.record("\(error) \(context.isActive)")
        context.dispatch(Echo())
      })
    dispatcher.register(effect: Effect(Cue.self) { _, _ in throw CancellationError() })
    dispatcher.register(
      effect: Effect(Echo.self, policy: .serial) { _, _ in log.record("echo") })
    let handle = dispatcher.dispatch(action: Cue(), mode: mode)
    await handle.settled()
    #expect(handle.resultIfEnded?.isSuccess == true)
    #expect(log.all == ["StageFright(place: 1) true", "echo"])
    #expect(warnings.all == [.effectFailed])
  }

  @Test func whatAnEndedRunSendsIsIgnoredAndReported() async {
    let (log, warnings) = (log, dispatcher.recordWarnings())
    let contexts = Recorder<EffectContext>()
    dispatcher.addStage()
    dispatcher.register(effect: Effect(Cue.self) { _, context in contexts.record(context) })
    await dispatcher.dispatch(action: Cue()).settled()
    let context = contexts.all[0]
    #expect(!context.isActive)
    let result = await context.send(Script.adds("late"))
    #expect(result.errorCode == .effectEnded)
    let handle = context.dispatch(Script.adds("late"), mode: .serial) {
      log.record("\($0.errorCode!)")
    }
    #expect(handle.resultIfEnded?.errorCode == .effectEnded)
    #expect(log.all == ["effectEnded"])
    #expect(warnings.all == [.effectEnded, .effectEnded])
    #expect((dispatcher.store(with: "stage") as? Stage)?.model == [])
  }

  @Test func beginInOrderOfRegistrationAndMayBeRegisteredSeveralTimes() async {
    let log = log
    let effect = Effect(Cue.self) { _, _ in log.record("a") }
    let first = dispatcher.register(effect: effect)
    dispatcher.register(effect: effect)
    await dispatcher.dispatch(action: Cue()).settled()
    #expect(log.all == ["a", "a"])
    #expect(first.unregister())
    #expect(!first.unregister())
    await dispatcher.dispatch(action: Cue()).settled()
    #expect(log.all == ["a", "a", "a"])
  }

  @Test(arguments: modes)
  func unregisteringCancelsTheirRunsAndNoneBeginsAfterwards(_ mode: Dispatcher.Mode) async {
    let (log, free) = (log, Latch())
    let registration = dispatcher.register(
      effect: Effect(Cue.self, policy: .serial) { cue, _ in
        log.record("begins \(cue.number)")
        do { try await waits(for: free) } catch { log.record("cancelled \(cue.number)") }
      })
    let handles = (1...3).map { dispatcher.dispatch(action: Cue(number: $0), mode: mode) }
    for handle in handles { await handle.ended() }
    _ = await log.first(1)
    #expect(registration.runCount == 1)
    #expect(registration.unregister())
    await dispatcher.dispatch(action: Cue(number: 4), mode: mode).settled()
    for handle in handles { await handle.settled() }
    #expect(log.all.count == 2 && log.all[1].hasPrefix("cancelled"))
    #expect(registration.runCount == 0)
    #expect(!registration.unregister())
  }

  @Test func keepsNothingForKeysThatCameAndWent() async {
    let registration = dispatcher.register(
      effect: Effect(Cue.self, policy: .serial, per: \.number) { _, _ in })
    for number in 1...1_000 { await dispatcher.dispatch(action: Cue(number: number)).settled() }
    while registration.registered.lines.count > 0 { await Task.yield() }
  }

  @Test func aTokenUnregistersTheEffectWhenItIsReleased() async {
    let (log, free) = (log, Latch())
    let registration = dispatcher.register(
      effect: Effect(Cue.self) { _, _ in
        log.record("begins")
        do { try await waits(for: free) } catch { log.record("cancelled") }
      })
    var token: ObserverToken? = registration.token()
    let handle = dispatcher.dispatch(action: Cue())
    _ = await log.first(1)
    #expect(token != nil && registration.runCount == 1)
    token = nil
    await handle.settled()
    await dispatcher.dispatch(action: Cue()).settled()
    #expect(log.all == ["begins", "cancelled"])
    let other = dispatcher.register(effect: Effect(Echo.self) { _, _ in log.record("echo") })
      .token()
    other.cancel()
    await dispatcher.dispatch(action: Echo()).settled()
    #expect(log.count == 2)
  }

  @Test func cancellingTheirRunsCancelsWhatTheyHaveDispatched() async {
    let (log, free, handles) = (log, Latch(), Recorder<DispatchHandle>())
    dispatcher.addStage()
    let registration = dispatcher.register(
      effect: Effect(Cue.self) { _, context in
        handles.record(
          context.dispatch(
            Script.suspends { _ in
              log.record("block")
              try await waits(for: free)
            }))
        _ = try await handles.first(1)[0].get()
      })
    let handle = dispatcher.dispatch(action: Cue())
    _ = await log.first(1)
    registration.cancel()
    await handle.settled()
    #expect(await handles.all[0].result.error is CancellationError)
    #expect(registration.unregister())
  }

  @Test(arguments: modes)
  func whatTheyDispatchInheritsTheDeadlineOfTheirCause(_ mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let (log, free, handles) = (log, Latch(), Recorder<DispatchHandle>())
    dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Cue.self) { _, context in
        handles.record(
          context.dispatch(
            Script.suspends { _ in
              log.record("block")
              try await waits(for: free)
            }))
        try await waits(for: Latch())
      })
    let handle = dispatcher.dispatch(
      action: Cue(), mode: mode, options: .timeout(.seconds(5)))
    #expect(await handle.result.isSuccess)
    _ = await log.first(1)
    clock.advance(by: .seconds(6))
    await handle.settled()
    #expect(await handles.all[0].result.errorCode == .timedOut)
  }

  /// A run that waited for its turn was never begun, and a clean-up never made.
  @Test(arguments: modes)
  func beginWithoutADeadlineThatPassedBefore(_ mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let (log, free) = (log, Latch())
    dispatcher.register(
      effect: Effect(Cue.self, policy: .serial) { _, context in
        log.record("begins")
        if log.count == 1 { await free.opened() }
      })
    let first = dispatcher.dispatch(action: Cue(), mode: mode)
    _ = await log.first(1)
    let second = dispatcher.dispatch(action: Cue(), mode: mode, options: .timeout(.seconds(5)))
    #expect(await second.result.isSuccess)
    clock.advance(by: .seconds(6))
    free.open()
    await first.settled()
    await second.settled()
    #expect(log.count == 2)
  }

  @Test(arguments: modes, modes)
  func whatFollowsATimeOutHasNoDeadline(
    _ mode: Dispatcher.Mode, _ inner: Dispatcher.Mode
  ) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let (began, handles) = (Latch(), Recorder<DispatchHandle>())
    let stage = dispatcher.addStage()
    dispatcher.register(
      effect: Effect(Script.self, runsRegardless: true) { script, context in
        guard script.description == "script" else { return }
        handles.record(context.dispatch(Script.adds("refund"), mode: inner))
        await context.send(Script.adds("sent"))
      })
    let handle = await onOwnThread {
      Thread {
        began.wait()
        while clock.sleeperCount == 0 { sched_yield() }
        clock.advance(by: .seconds(5))
      }.start()
      return dispatcher.dispatch(
        action: Script.suspends { _ in
          began.open()
          try await waits(for: Latch())
        }, mode: mode, options: .timeout(.seconds(5)))
    }
    #expect(await handle.result.errorCode == .timedOut)
    await handle.settled()
    #expect(await handles.first(1)[0].result.isSuccess)
    #expect(stage.model.sorted() == ["refund", "sent"])
  }

  /// Its clean-up is sent in the task that was cancelled.
  @Test(arguments: [EffectPolicy.latest])
  func aCancelledRunCleansUp(_ policy: EffectPolicy) async {
    let (log, dispatcher) = (log, dispatcher)
    let stage = dispatcher.addStage()
    let registration = dispatcher.register(
      effect: Effect(Cue.self, policy: policy) { _, context in
        log.record("begins")
        do {
          try await waits(for: Latch())
        } catch {
          let plain = await context.send(Script.adds("plain"))
          log.record("\(plain.isSuccess)")
          let detached = await context.send(
            Script.suspends { stage in
              try await Task.sleep(for: .milliseconds(1))
              stage.updateModel { $0.append("detached") }
            }, options: .detached)
          log.record("\(detached.isSuccess)")
        }
      })
    let handle = dispatcher.dispatch(action: Cue())
    _ = await log.first(1)
    registration.cancel()
    await handle.settled()
    #expect(log.all == ["begins", "false", "true"])
    #expect(stage.model == ["detached"])
  }

  @Test func aDispatchInAnExclusiveSectionIsFollowed() async {
    let log = log
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    dispatcher.register(effect: Effect(Cue.self) { _, _ in log.record("effect") })
    let dispatcher = dispatcher
    let handle = store.updateModel { _ in dispatcher.dispatch(action: Cue()) }
    await handle.settled()
    #expect(log.all == ["effect"])
  }
}
