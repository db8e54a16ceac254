import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Draining a dispatcher", .timeLimit(.minutes(10)))
struct DrainTests {
  static let modes = Dispatcher.Mode.everyMode

  @Test func endsAtOnceWhereNothingIsInFlight() async {
    let dispatcher = Dispatcher()
    #expect(await dispatcher.drain().isComplete)
    #expect(await dispatcher.drain().isComplete)
    let used = Dispatcher()
    used.addStage()
    for mode in Self.modes {
      #expect(await used.dispatch(action: Script.adds("a"), mode: mode).result.isSuccess)
    }
    #expect(await used.drain(timeout: .zero).isComplete)
  }

  /// A hook may keep what it has got of a dispatch.
  @Test(arguments: modes)
  func endsWhereAHookHasKeptAnEndedSequence(_ mode: Dispatcher.Mode) async {
    let (dispatcher, kept) = (Dispatcher(), Recorder<DispatchInfo>())
    dispatcher.addStage()
    dispatcher.register(middleware: EndHook { info, _ in kept.record(info) })
    let scripts = [Script.adds("a"), Script.adds("b")]
    #expect(await dispatcher.dispatch(actions: scripts, mode: mode).result.isSuccess)
    #expect(kept.all.filter(\.isSequence).count == 1)
    #expect(await dispatcher.drain().isComplete)
  }

  /// As a program's main thread may wait for it, without a task.
  @Test func callsAClosure() async {
    let (dispatcher, reports) = (Dispatcher(), Recorder<Bool>())
    dispatcher.addStage()
    dispatcher.dispatch(action: Script.adds("a"), mode: .serial)
    dispatcher.drain { reports.record($0.isComplete) }
    #expect(await reports.first(1) == [true])
  }

  /// A stage whose operation goes on until the latch opens.
  private func hold(
    _ dispatcher: Dispatcher, _ mode: Dispatcher.Mode, until free: Latch
  ) async {
    dispatcher.addStage("held")
    let started = Latch()
    let script = Script.suspends("held") { stage in
      started.open()
      await free.opened()
      stage.updateModel { $0.append("ended") }
    }
    if mode == .sync {
      // Its caller's thread waits.
      Thread { dispatcher.dispatch(storeIdentifier: "held", action: script, mode: mode) }.start()
    } else {
      dispatcher.dispatch(storeIdentifier: "held", action: script, mode: mode)
    }
    await started.opened()
  }

  /// It may still run when the stores have ended, and goes on as any completion may.
  @Test(arguments: Dispatcher.Mode.queuedModes, [1, 2])
  func waitsForACompletionAtADeadline(mode: Dispatcher.Mode, actionCount: Int) async {
    let clock = VirtualClock()
    let (dispatcher, log) = (Dispatcher(clock: clock), Recorder<String>())
    dispatcher.addStage()
    let other = Dispatcher()
    other.addStage()
    let (started, free, completes, goesOn) = (Latch(), Latch(), Latch(), Latch())
    let script = Script.holds(opening: started, until: free)
    let next = Script.runs { _ in log.record("next") }
    let completion: @Sendable () -> Void = {
      completes.open()
      other.dispatch(action: Script.suspends { _ in await goesOn.opened() }, mode: .sync)
      dispatcher.dispatch(next, mode: mode) { log.record("\($0.isSuccess)") }
    }
    let options = DispatchOptions.timeout(.seconds(1))
    let overdue =
      actionCount == 1
      ? dispatcher.dispatch(action: script, mode: mode, options: options, then: completion)
      : dispatcher.dispatch(
        actions: Array(repeating: script, count: actionCount), mode: mode, options: options,
        then: completion)
    await started.opened()
    await clock.pass(.seconds(1))
    await completes.opened()
    free.open()
    let isOver = Latch()
    overdue.dispatch?.at(.over) { isOver.open() }
    await isOver.opened()
    let drain = Task { await dispatcher.drain().isComplete }
    #expect(await dispatcher.drain(timeout: .zero).isComplete == false)
    goesOn.open()
    #expect(await drain.value)
    #expect(log.all == ["next", "true"])
  }

  @Test(arguments: modes)
  func waitsForWhatIsInFlight(mode: Dispatcher.Mode) async {
    let (dispatcher, free, log) = (Dispatcher(), Latch(), Recorder<String>())
    await hold(dispatcher, mode, until: free)
    let drains = (0..<3).map { _ in Task { await dispatcher.drain().isComplete } }
    dispatcher.drain { log.record("drained \($0.isComplete)") }
    #expect(log.all.isEmpty)
    free.open()
    for drain in drains { #expect(await drain.value) }
    #expect(await log.first(1) == ["drained true"])
    #expect((dispatcher.store(with: "held") as? Stage)?.model == ["ended"])
  }

  @Test(arguments: modes)
  func returnsAtItsLimitWithWhatHasNotEnded(mode: Dispatcher.Mode) async {
    let (clock, free) = (VirtualClock(), Latch())
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.tracksInFlight = true
    await hold(dispatcher, mode, until: free)
    let waiting = mode == .sync || mode == .async ? 0 : 1
    if waiting > 0 {
      dispatcher.addStage("waiting")
      dispatcher.dispatch(storeIdentifier: "waiting", action: Script.adds("b"), mode: mode)
    }
    let drain = Task { await dispatcher.drain(timeout: .seconds(2)) }
    await clock.pass(.seconds(2))
    let report = await drain.value
    #expect(!report.isComplete)
    #expect(report.unfinished?.count == 1 + waiting)
    #expect(report.unfinished?.first?.mode == mode)
    #expect(report.unfinished?.first?.actions.first is Script)
    #expect(report.description.contains("DrainTests.swift"))
    // It goes on, and may be waited for again; at once where the limit has passed.
    #expect(await dispatcher.drain(timeout: .zero).isComplete == false)
    #expect(await dispatcher.drain(timeout: .seconds(-1)).isComplete == false)
    let again = Task { await dispatcher.drain() }
    free.open()
    let complete = await again.value
    #expect(complete.isComplete)
    #expect(complete.unfinished?.isEmpty == true)
    #expect(dispatcher.inFlight.isEmpty)
  }

  /// The table has the dispatches that were made while it was on, until their ends.
  @Test(arguments: modes)
  func theTableIsSwitchedOnAndOffAtRunTime(mode: Dispatcher.Mode) async {
    let (dispatcher, early, free) = (Dispatcher(), Latch(), Latch())
    dispatcher.addStage("early")
    dispatcher.dispatch(
      storeIdentifier: "early", action: Script.suspends { _ in await early.opened() },
      mode: .serial(lane: "early"))
    dispatcher.tracksInFlight = true
    dispatcher.tracksInFlight = true
    await hold(dispatcher, mode, until: free)
    #expect(dispatcher.inFlight.map(\.mode) == [mode])
    dispatcher.tracksInFlight = false
    #expect(dispatcher.inFlight.isEmpty && !dispatcher.tracksInFlight)
    dispatcher.tracksInFlight = true
    #expect(dispatcher.inFlight.isEmpty)
    early.open()
    free.open()
    #expect(await dispatcher.drain().isComplete)
    #expect(dispatcher.inFlight.isEmpty)
  }

  @Test func withoutATableSaysHowToKnowWhatHasNotEnded() async {
    let (dispatcher, free) = (Dispatcher(name: "plain"), Latch())
    await hold(dispatcher, .serial, until: free)
    let report = await dispatcher.drain(timeout: .zero)
    #expect(!report.isComplete && report.unfinished == nil)
    #expect(report.description.contains("tracksInFlight"))
    free.open()
    #expect(await dispatcher.drain().description == "Dispatcher \"plain\" is drained.")
  }

  @Test(arguments: modes)
  func returnsWhereItsTaskIsCancelled(mode: Dispatcher.Mode) async {
    let (dispatcher, free) = (Dispatcher(), Latch())
    await hold(dispatcher, mode, until: free)
    let task = Task { await dispatcher.drain() }
    task.cancel()
    #expect(await task.value.isComplete == false)
    free.open()
    #expect(await dispatcher.drain().isComplete)
  }

  /// The second generation is in flight where a drain begins that the first one's end does not concern.
  @Test func ofManyTasksEndNoneBeforeTheLastDispatch() async {
    let (dispatcher, first, second) = (Dispatcher(), Latch(), Latch())
    dispatcher.addStage("child")
    let (childStarted, ended) = (Latch(), Recorder<Int>())
    dispatcher.addStage("parent")
    dispatcher.dispatch(
      storeIdentifier: "parent",
      action: Script.suspends { _ in
        await first.opened()
        dispatcher.dispatch(
          storeIdentifier: "child",
          action: Script.suspends { _ in
            childStarted.open()
            await second.opened()
            ended.record(0)
          })
      })
    let early = Task { await dispatcher.drain().isComplete }
    let other = Task { await dispatcher.drain().isComplete }
    first.open()
    await childStarted.opened()
    let late = Task { await dispatcher.drain().isComplete }
    #expect(await dispatcher.drain(timeout: .zero).isComplete == false)
    second.open()
    for task in [early, other, late] { #expect(await task.value) }
    #expect(ended.count == 1)
  }
}

/// Producers that do not know of the drain.
@Suite("Draining a dispatcher: load", .timeLimit(.minutes(10)))
struct DrainLoadTests {
  /// Whatever was accepted has run once the drain returns, and nothing else ever runs.
  @Test(arguments: 0..<10)
  func whatWasAcceptedHasRunAndNothingElse(round: Int) async {
    let (dispatcher, counts) = (Dispatcher(), Recorder<Int>())
    let stores = (0..<4).map { dispatcher.register(store: CounterStore.counter("\($0)")) }
    let (stage, going) = (dispatcher.addStage(), Latch())
    await withDiscardingTaskGroup { group in
      for producer in 0..<8 {
        group.addTask {
          var accepted = 0
          var handles: [DispatchHandle] = []
          for index in 0..<Load.count(500) {
            let mode = Dispatcher.Mode.everyMode[(index + producer) % 5]
            let store = stores[index % 4]
            switch index % 3 {
            case 0:
              handles.append(store.dispatch(.add(1), mode: mode))
            case 1:
              handles.append(
                dispatcher.dispatch(
                  storeIdentifier: "stage",
                  action: Script.suspends { _ in
                    await Task.yield()
                    dispatcher.dispatch(
                      storeIdentifier: store.identifier, action: CounterAction.add(1))
                  }, mode: mode == .sync ? .async : mode))
            default:
              let result = await dispatcher.send(
                CounterAction.add(1), to: store.identifier, mode: .serial(lane: index % 5))
              if result.isSuccess { accepted += 1 }
            }
            if index == 20 { going.open() }
            if handles.last?.resultIfEnded?.errorCode == .dispatcherClosed { break }
          }
          for handle in handles where await handle.result.isSuccess { accepted += 1 }
          counts.record(accepted)
        }
      }
      group.addTask {
        await going.opened()
        #expect(await dispatcher.drain().isComplete)
        let sum = stores.reduce(0) { $0 + $1.model.count }
        let accepted = await counts.first(8).reduce(0, +)
        #expect(sum == accepted, "Each has added 1, by itself or by what it dispatched.")
        #expect(stores.reduce(0) { $0 + $1.model.count } == sum)
      }
    }
    withExtendedLifetime(stage) {}
  }
}
