import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// A structured dispatch: an action runs in the task that sends it.
@Suite("Structured dispatch", .timeLimit(.minutes(10)))
struct SendTests {
  @TaskLocal static var trace = "none"

  let dispatcher = Dispatcher()
  let log = Recorder<String>()

  /// Holds a lane until the latch opens; returns once it does.
  private func hold(_ mode: Dispatcher.Mode, until latch: Latch) async -> DispatchHandle {
    dispatcher.addStage("holder")
    let held = Latch()
    let script = Script.holds(opening: held, until: latch)
    let handle = dispatcher.dispatch(storeIdentifier: "holder", action: script, mode: mode)
    await held.opened()
    return handle
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, OperationStyle.allCases)
  func hasRunEachStoreWhenItReturns(_ mode: Dispatcher.Mode, _ style: OperationStyle) async {
    dispatcher.addProbe("b", waitFor: ["a"], style: style, to: log)
    dispatcher.addProbe("a", style: style, to: log)
    let counter = dispatcher.register(store: CounterStore.counter("c"))
    for round in 1...3 {
      let result = await dispatcher.send(Ping(), mode: mode) { _ in log.record("completion") }
      #expect(result.isSuccess)
      #expect(result.stores.map(\.storeIdentifier) == ["a", "b"])
      #expect(log.all.suffix(5) == ["+a", "-a", "+b", "-b", "completion"])
      #expect(await dispatcher.send(CounterAction.add(2), mode: mode).isSuccess)
      #expect(counter.model.count == 2 * round)
    }
    #expect(dispatcher.laneCount == 0)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func itsCodeHasTheTasksValues(_ mode: Dispatcher.Mode, whereTheLaneIsHeld isHeld: Bool) async {
    let (stage, free) = (dispatcher.addStage(), Latch())
    let holder = isHeld ? await hold(mode, until: free) : nil
    let (log, dispatcher) = (log, dispatcher)
    let observer = stage.observe(.model) { _ in log.record("observer \(Self.trace)") }
    let task = Self.$trace.withValue("mine") {
      Task.immediate {
        let block = Script.suspends { stage in
          await Task.yield()
          async let child: Void = log.record("child \(Self.trace)")
          await child
          stage.updateModel { $0.append("x") }
          log.record("block \(Self.trace)")
        }
        await dispatcher.send(block, to: "stage", mode: mode) { _ in
          log.record("completion \(Self.trace)")
        }
        await dispatcher.send(Script.runs { _ in log.record("run \(Self.trace)") }, to: "stage")
      }
    }
    free.open()
    await task.value
    await holder?.ended()
    let parts = ["child", "observer", "block", "completion", "run"]
    #expect(log.all == parts.map { "\($0) mine" })
    observer.cancel()
  }

  /// As declared it has no order, because its prerequisite was never registered.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func theBlockOfAStoreThatRunsOnlyAsRefinedHasTheTasksValues(_ mode: Dispatcher.Mode) async {
    let (free, dispatcher, log) = (Latch(), dispatcher, log)
    let reducer = ClosureReducer<Int, Ping>(waits: { _, _ in [] }) { action, store in
      ActionOperation(action: action, store: store) { _, _ in log.record(Self.trace) }
    }
    dispatcher.register(
      store: ProbeStore(identifier: "probe", model: 0, reducer: reducer), waitFor: ["later"])
    let holder = await hold(mode, until: free)
    let task = Self.$trace.withValue("mine") {
      Task.immediate { await dispatcher.send(Ping(), mode: mode).isSuccess }
    }
    free.open()
    #expect(await task.value)
    await holder.ended()
    #expect(log.all == ["mine"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func hasItsTurnAmongAllFormsFirstInFirstOut(_ mode: Dispatcher.Mode) async {
    let (stage, free, dispatcher) = (dispatcher.addStage(), Latch(), dispatcher)
    let holder = await hold(mode, until: free)
    var tasks: [Task<Void, Never>] = []
    var dispatched: [DispatchHandle] = []
    let pushed = (0..<40).map { "\($0)" }
    for name in pushed {
      if Int(name)! % 3 == 0 {
        dispatched.append(
          dispatcher.dispatch(storeIdentifier: "stage", action: Script.adds(name), mode: mode))
      } else {
        tasks.append(
          Task.immediate {
            _ = await dispatcher.send(
              Int(name)! % 3 == 1
                ? Script.adds(name)
                : Script.suspends { stage in
                  await Task.yield()
                  stage.updateModel { $0.append(name) }
                }, to: "stage", mode: mode)
          })
      }
    }
    free.open()
    for task in tasks { await task.value }
    for handle in dispatched { _ = await handle.result }
    await holder.ended()
    #expect(stage.model == pushed)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func isCancelledWithItsTaskWhileItWaits(_ mode: Dispatcher.Mode) async {
    let (free, dispatcher, log) = (Latch(), dispatcher, log)
    let stage = dispatcher.addStage()
    dispatcher.register(middleware: RecordingMiddleware(to: log))
    let holder = await hold(mode, until: free)
    if mode == .async { dispatcher.queue.isSuspended = true }
    let sent = Latch()
    let task = Task {
      sent.open()
      return await dispatcher.send(Script.adds("x"), to: "stage", mode: mode) { result in
        log.record("completion \(result.error is CancellationError)")
      }
    }
    await sent.opened()
    task.cancel()
    let result = await task.value
    #expect(result.error is CancellationError)
    #expect(result["stage"].wasCancelled(afterItsStart: false) == true)
    #expect(log.all.suffix(3) == ["m will stage", "m did stage", "completion true"])
    #expect(throws: CancellationError.self) { try result.get() }
    dispatcher.queue.isSuspended = false
    free.open()
    await holder.ended()
    #expect(await dispatcher.send(Script.adds("y"), to: "stage", mode: mode).isSuccess)
    #expect(stage.model == ["y"])
    await dispatcher.lanesAreGone()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func aCancelledTaskRunsNothing(_ mode: Dispatcher.Mode, _ hasMiddleware: Bool) async {
    let (stage, dispatcher, log) = (dispatcher.addStage(), dispatcher, log)
    if hasMiddleware { dispatcher.register(middleware: RecordingMiddleware(to: log)) }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await dispatcher.send(Script.adds("x"), mode: mode) { _ in log.record("completion") }
    }
    #expect(await task.value.error is CancellationError)
    #expect(stage.model.isEmpty)
    #expect(log.all == (hasMiddleware ? ["m will stage", "m did stage"] : []) + ["completion"])
    #expect(await dispatcher.send(Script.adds("y"), mode: mode).isSuccess)
  }

  /// Its first store has run in the task, and its second one has a block.
  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aTaskThatIsCancelledBetweenTwoStoresBeginsNoBlock(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    dispatcher.register(store: .reducing("a") { withUnsafeCurrentTask { $0?.cancel() } })
    dispatcher.addProbe("b", waitFor: ["a"], style: .suspending, to: log)
    let result = await Task { await dispatcher.send(Ping(), mode: mode) }.value
    #expect(result["a"].isFinished == true)
    #expect(result["b"].wasCancelled(afterItsStart: false) == true)
    #expect(log.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func itsBlockIsCancelledWithItsTask(_ mode: Dispatcher.Mode) async {
    let (began, dispatcher) = (Latch(), dispatcher)
    dispatcher.addStage()
    let task = Task {
      let block = Script.endless(opening: began)
      return await dispatcher.send(block, mode: mode)
    }
    await began.opened()
    task.cancel()
    let result = await task.value
    #expect(result.error is CancellationError)
    #expect(result["stage"].wasCancelled(afterItsStart: true) == true)
  }

  /// With an option, others may cancel the dispatch too, so that its block has a task of its own.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func itsBlockSeesTheCancellationOfItsTaskAtOnceWithOptionsToo(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage()
    for _ in 0..<Load.count(50) {
      let (began, cancelled, dispatcher, log) = (Latch(), EventCount(of: 1), dispatcher, log)
      let task = Task {
        let block = Script.suspends { _ in
          began.open()
          while cancelled.count == 0 { await Task.yield() }
          log.record("\(Task.isCancelled)")
        }
        return await dispatcher.send(block, mode: mode, options: .timeout(.seconds(3_600)))
      }
      await began.opened()
      task.cancel()
      cancelled.add()
      _ = await task.value
    }
    #expect(Set(log.all) == ["true"])
  }

  /// The condition is asked in the task, just before the start.
  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "named")])
  func aReductionWhoseConditionCancelsTheTaskDoesNotStart(_ mode: Dispatcher.Mode) async {
    let (dispatcher, store) = (
      dispatcher, dispatcher.register(store: CounterStore.counter("counter"))
    )
    let condition = DispatchOptions.when(store) { _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return true
    }
    let result = await Task {
      await dispatcher.send(CounterAction.add(1), mode: mode, options: condition)
    }.value
    #expect(result.error is CancellationError && store.version == 0)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aStoreThatRunsRegardlessIsNotCancelledWithTheTask(_ mode: Dispatcher.Mode) async {
    let (began, dispatcher, log) = (Latch(), dispatcher, log)
    dispatcher.addStage()
    let audit = Script.Stage(identifier: "audit", model: [], reducer: ScriptReducer())
    dispatcher.register(store: audit, waitFor: WaitFor(["stage"], runsRegardless: true))
    let task = Task {
      let block = Script.suspends { stage in
        if stage.identifier == "stage" {
          began.open()
          try await Task.sleep(for: .seconds(3_600))
        } else {
          await Task.yield()
          log.record("audit \(Task.isCancelled)")
        }
      }
      return await dispatcher.send(block, mode: mode)
    }
    await began.opened()
    task.cancel()
    let result = await task.value
    #expect(result["stage"].isCancelled == true)
    #expect(result["audit"].isFinished == true)
    #expect(log.all == ["audit false"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func theBlockOfAStoreThatRunsRegardlessIsCancelledWithTheTaskOnceItRuns(
    _ mode: Dispatcher.Mode
  ) async {
    let (began, dispatcher) = (Latch(), dispatcher)
    let audit = Script.Stage(identifier: "audit", model: [], reducer: ScriptReducer())
    dispatcher.register(store: audit, waitFor: WaitFor([], runsRegardless: true))
    let task = Task {
      let block = Script.suspends { _ in
        began.open()
        try await waits(for: Latch())
      }
      return await dispatcher.send(block, mode: mode)
    }
    await began.opened()
    task.cancel()
    #expect(await task.value["audit"].isCancelled == true)
  }

  @Test func cancellingItsOperationDoesNotCancelTheTask() async {
    let (began, proceed, dispatcher, log) = (Latch(), Latch(), dispatcher, log)
    let operations = Recorder<Script.Operation>()
    dispatcher.addStage()
    let task = Task {
      let script = Script.answers { action, store in
        let operation = Script.Operation(action: action, store: store) { _, _ async throws in
          began.open()
          await proceed.opened()
          log.record("\(Task.isCancelled)")
        }
        operations.record(operation)
        return operation
      }
      return await dispatcher.send(script, to: "stage")
    }
    await began.opened()
    operations.all[0].cancel()
    #expect(operations.all[0].isCancelled)
    proceed.open()
    #expect(await task.value.isSuccess)
    #expect(log.all == ["false"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func waitsWhileTheQueueIsSuspended(_ mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage()
    dispatcher.queue.isSuspended = true
    let dispatcher = dispatcher
    let task = Task.immediate {
      await dispatcher.send(Script.adds("x"), mode: mode)
    }
    if mode == .mainThread {
      #expect(await task.value.isSuccess)
    } else {
      await dispatcher.send(Script.adds("main"), mode: .mainThread)
      #expect(stage.model == ["main"])
      dispatcher.queue.isSuspended = false
      #expect(await task.value.isSuccess)
    }
    #expect(stage.model.last == "x")
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func onlyMainThreadIsTheMainActor(_ mode: Dispatcher.Mode, _ suspends: Bool) async {
    let (log, dispatcher) = (log, dispatcher)
    dispatcher.addStage()
    let note = Script.suspends { _ in
      log.record("\(Here.isMainQueue)")
      await Task.yield()
      log.record("\(Here.isMainQueue)")
    }
    let action = suspends ? note : Script.runs { _ in log.record("\(Here.isMainQueue)") }
    await dispatcher.send(action, mode: mode)
    await Task { @MainActor in
      await dispatcher.send(action, mode: mode)
      #expect(Here.isMainQueue)
    }.value
    #expect(Set(log.all) == ["\(mode == .mainThread)"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func blocksOfStoresThatDoNotWaitForEachOtherRunBesideEachOther(_ mode: Dispatcher.Mode) async {
    let latches = ["a": Latch(), "b": Latch(), "c": Latch()]
    for name in latches.keys.sorted() { dispatcher.addStage(name) }
    let meet = Script.suspends { stage in
      latches[stage.identifier]!.open()
      for latch in latches.values { await latch.opened() }
    }
    for _ in 0..<3 { #expect(await dispatcher.send(meet, mode: mode).isSuccess) }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func waitsForTheHandlesThatItIsToFollow(_ mode: Dispatcher.Mode) async {
    let (stage, free, dispatcher) = (dispatcher.addStage(), Latch(), dispatcher)
    let holder = await hold(.serial(lane: "other"), until: free)
    let task = Task.immediate {
      await dispatcher.send(
        Script.adds("second"), to: "stage", mode: mode, options: .after(holder))
    }
    await dispatcher.send(Script.adds("first"), to: "stage", mode: .serial(lane: "third"))
    free.open()
    #expect(await task.value.isSuccess)
    #expect(stage.model == ["first", "second"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func returnsAfterDidDispatchAndCompletion(_ mode: Dispatcher.Mode) async {
    let (log, stage) = (log, dispatcher.addStage())
    dispatcher.register(middleware: RecordingMiddleware("1", to: log))
    dispatcher.register(middleware: RecordingMiddleware("2", to: log))
    let observer = stage.observe(.model) { _ in log.record("observer") }
    await dispatcher.send(Script.adds("x"), mode: mode) { _ in log.record("completion") }
    log.record("returned")
    #expect(
      log.all == [
        "1 will stage", "2 will stage", "observer", "2 did stage", "1 did stage", "completion",
        "returned",
      ])
    observer.cancel()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aVetoEndsItWithoutItsStore(_ mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage()
    dispatcher.register(
      middleware: RecordingMiddleware(to: log, will: { _, _, _ in .veto(reason: "no") }))
    let result = await dispatcher.send(Script.adds("x"), mode: mode)
    #expect(result.errorCode == .vetoed)
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func followsTheDeliveryOfItsChangesByAnotherThread(_ mode: Dispatcher.Mode) async {
    let (stage, dispatcher, log) = (dispatcher.addStage(), dispatcher, log)
    let (inside, free) = (Latch(), Latch())
    let observer = stage.observe(.model) { change in
      if change.version == 1 {
        inside.open()
        free.wait()
      }
      log.record("\(change.version)")
    }
    let notifier = Thread { stage.updateModel { $0.append("outside") } }
    notifier.start()
    await inside.opened()
    let task = Task.immediate {
      await dispatcher.send(Script.adds("x"), mode: mode) { _ in log.record("completion") }
    }
    free.open()
    #expect(await task.value.isSuccess)
    #expect(log.all == ["1", "2", "completion"])
    observer.cancel()
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func whatCannotRunSaysWhy(_ mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    _ = dispatcher.recordWarnings()
    #expect(await dispatcher.send(Ping(), to: "x", mode: mode).errorCode == .unknownStore)
    #expect(await dispatcher.send(Ping(), mode: mode).hasResponders == false)
    let stray = CounterStore.counter()
    #expect(await stray.send(.add(1), mode: mode).errorCode == .notRegistered)
    dispatcher.register(store: stray)
    #expect(await stray.send(.add(1), mode: mode).isSuccess)
    #expect(await stray.send(.fail(1), mode: mode).error is CounterFailure)
    #expect(stray.model.count == 2)
  }
}

/// A structured dispatch inside an operation that it would wait for is refused.
@Suite("Structured dispatch: wouldDeadlock", .timeLimit(.minutes(10)))
struct SendDeadlockTests {
  let dispatcher = makeStage().dispatcher
  let results = Recorder<DispatchResult>()

  /// Sends or dispatches a block; either holds the lane.
  private func run(
    _ mode: Dispatcher.Mode, _ isSent: Bool, _ block: @escaping @Sendable () async -> Void
  ) async {
    let script = Script.suspends { _ in await block() }
    if isSent {
      #expect(await dispatcher.send(script, mode: mode).isSuccess)
    } else {
      #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    }
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [true, false])
  func onTheLaneThatItHolds(_ mode: Dispatcher.Mode, _ isSent: Bool) async {
    let (dispatcher, results) = (dispatcher, results)
    await run(mode, isSent) {
      results.record(await dispatcher.send(Script.adds("inner"), mode: .init(mode)!))
      async let child = dispatcher.send(Script.adds("child"), mode: mode)
      results.record((await child).result)
    }
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
    #expect(await dispatcher.send(Script.adds("after"), mode: mode).isSuccess)
  }

  /// A child task holds the block up with whatever executor.
  @Test(arguments: Dispatcher.Mode.laneModes, [true, false])
  func fromAChildTaskWithAnExecutorOfItsOwn(_ mode: Dispatcher.Mode, _ isSent: Bool) async {
    let (dispatcher, results) = (dispatcher, results)
    await run(mode, isSent) {
      await withDiscardingTaskGroup { group in
        group.addTask(executorPreference: globalConcurrentExecutor) {
          results.record(await dispatcher.send(Script.adds("inner"), mode: .init(mode)!))
        }
      }
      await withTaskExecutorPreference(globalConcurrentExecutor) {
        async let child = dispatcher.dispatch(action: Script.adds("child"), mode: mode).result
        results.record(await child)
      }
    }
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
  }

  /// There, the runtime copies the task-local values of a task to its child tasks.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func fromAChildTaskOfABlockThatIsSentInTheBodyOfATaskGroup(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let later = Recorder<DispatchResult>()
    await withDiscardingTaskGroup { group in
      await run(mode, true) {
        async let child = dispatcher.send(Script.adds("child"), mode: mode)
        results.record((await child).result)
        Task { later.record(await dispatcher.send(Script.adds("later"), mode: .init(mode)!)) }
      }
      group.addTask { _ = await later.first(1) }
    }
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
    #expect(later.all[0].isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [true, false])
  func throughAnotherLane(_ mode: Dispatcher.Mode, _ isSent: Bool) async {
    let (dispatcher, results) = (dispatcher, results)
    await run(mode, isSent) {
      let through = Script.suspends { _ in
        results.record(await dispatcher.send(Script.adds("inner"), mode: .init(mode)!))
        let handle = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
        results.record(await handle.result)
        handle.cancel()
      }
      results.record(await dispatcher.send(through, mode: .serial(lane: "other")))
    }
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock, nil])
  }

  /// The error of the refused wait describes the lane, by code of the program: it ends the dispatch at that moment.
  @Test(arguments: [1, 3], [false, true])
  func oneThatEndsAsItIsRefusedReturnsAfterItsCompletionWithThatEnd(
    _ laneCount: Int, _ timesOut: Bool
  ) async {
    let (clock, key, teller, results) = (VirtualClock(), DescribedKey(), Teller(), results)
    let dispatcher = makeStage(Dispatcher(clock: clock)).dispatcher
    let store = dispatcher.register(
      store: Store(identifier: "counter", model: 0) { On(Ping.self) { count, _ in count += 1 } })
    let mode: Dispatcher.Mode =
      laneCount == 1 ? .serial(lane: key) : .serial(lanes: [key, "second", "third"])
    let script = Script.suspends { _ in
      key.whenDescribed {
        if timesOut { return clock.advance(by: .seconds(1)) }
        dispatcher.cancel(named: "inner")
      }
      results.record(await teller.sendPing(by: dispatcher, mode, to: results))
    }
    #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    #expect(results.count == 2)
    for result in results.all {
      #expect(timesOut ? result.errorCode == .timedOut : result.error is CancellationError)
    }
    #expect(store.model == 0)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aTaskForWhichNoneWaitsIsNotRefused(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    await run(mode, true) {
      Task { results.record(await dispatcher.send(Script.adds("later"), mode: .init(mode)!)) }
    }
    #expect(await results.first(1)[0].isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSyncDispatchInItsBlockBehindItsLaneIsRefused(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let script = Script.runs { _ in
      let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
      let handle = dispatcher.dispatch(
        action: Script.adds("x"), mode: .sync, options: .after(behind))
      results.record(handle.resultIfEnded!)
    }
    await dispatcher.send(script, mode: mode)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
  }

  /// The wait is in a dispatch inside one that has made no record, and holds the lane all the same.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSyncDispatchInsideAnotherBehindItsLaneIsRefused(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let desk = dispatcher.addDesk()
    dispatcher.addDesk("inner")
    let errand = Errand { _ in
      let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
      let inner = Errand { _ in
        let handle = dispatcher.dispatch(
          action: Script.adds("x"), mode: .sync, options: .after(behind))
        results.record(handle.resultIfEnded!)
      }
      dispatcher.dispatch(storeIdentifier: "inner", action: inner, mode: .sync)
    }
    await desk.send(errand, mode: mode)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
  }

  /// Holds a lane in a task until the latch opens.
  private func holdInTask(_ mode: Dispatcher.Mode, until latch: Latch) async -> Task<Void, Never> {
    let (dispatcher, held) = (dispatcher, Latch())
    let task = Task {
      _ = await dispatcher.send(Script.holds(opening: held, until: latch), mode: mode)
    }
    await held.opened()
    return task
  }

  private static let lanes: [Dispatcher.Mode] = [.serial, .serial(lane: "named")]

  @Test(arguments: lanes, [false, true])
  func aSyncDispatchBlocksNoThreadOfTheTasksBehindATask(
    _ mode: Dispatcher.Mode, _ isQueued: Bool
  ) async {
    let (dispatcher, results, free) = (dispatcher, results, Latch())
    let task = isQueued ? nil : await holdInTask(mode, until: free)
    let holder = Script.suspends { _ in await free.opened() }
    if isQueued { dispatcher.dispatch(action: holder, mode: mode) }
    let queued = isQueued ? Task.immediate { _ = await dispatcher.send(holder, mode: mode) } : nil
    let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
    await Task.detached {
      results.record(
        dispatcher.dispatch(action: Script.adds("x"), mode: .sync, options: .after(behind))
          .resultIfEnded!)
      let awaits = Script.suspends { _ in results.record(await behind.result) }
      dispatcher.dispatch(action: awaits, mode: .sync)
    }.value
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
    // A thread of the program's own waits.
    let (onThread, waits) = (Recorder<DispatchResult>(), Latch())
    Thread {
      waits.open()
      onThread.record(
        dispatcher.dispatch(action: Script.adds("x"), mode: .sync, options: .after(behind))
          .resultIfEnded!)
    }.start()
    await waits.opened()
    free.open()
    #expect(await onThread.first(1)[0].isSuccess)
    await task?.value
    await queued?.value
  }
}

/// The key of a lane, which calls a closure once when it is described.
private final class DescribedKey: Hashable, CustomStringConvertible, Sendable {
  private let body = Locked<(@Sendable () -> Void)?>(nil)

  var description: String {
    body.exchange(nil)?()
    return "described"
  }

  func whenDescribed(_ body: @escaping @Sendable () -> Void) {
    self.body.withLock { $0 = body }
  }

  static func == (lhs: DescribedKey, rhs: DescribedKey) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(self))
  }
}

private actor Teller {
  private func open(_ latch: Latch) { latch.open() }

  /// Sends an action whose completion waits until this actor is free: until the task awaits the end, or has returned.
  func sendPing(
    by dispatcher: Dispatcher, _ mode: Dispatcher.Mode, to results: Recorder<DispatchResult>
  ) async -> DispatchResult {
    let isFree = Latch()
    Task { open(isFree) }
    let options: DispatchOptions = [.named("inner"), .timeout(.seconds(1))]
    return await dispatcher.send(Ping(), mode: Dispatcher.SendMode(mode)!, options: options) {
      isFree.wait()
      results.record($0)
    }.result
  }
}

/// Many tasks that send.
@Suite("Structured dispatch: many tasks", .timeLimit(.minutes(10)))
struct SendLoadTests {
  @Test(arguments: Dispatcher.Mode.queuedModes, OperationStyle.allCases)
  func eachActionRunsOnceAndOneAtATimePerLane(
    _ mode: Dispatcher.Mode, _ style: OperationStyle
  ) async {
    let (dispatcher, log) = (Dispatcher(), Recorder<String>())
    let store = dispatcher.addProbe("a", style: style, to: log)
    dispatcher.register(store: CounterStore.counter())
    let (tasks, each) = (8, Load.count(200))
    await withDiscardingTaskGroup { group in
      for task in 0..<tasks {
        group.addTask {
          for index in 0..<each {
            if (index + task) % 7 == 0 {
              await dispatcher.dispatch(action: Ping(), mode: mode).ended()
            } else {
              #expect(await dispatcher.send(Ping(), mode: mode).isSuccess)
            }
          }
        }
      }
    }
    await dispatcher.send(CounterAction.add(1), mode: mode)
    #expect(store.model == tasks * each)
    if mode != .async {
      #expect(log.all == (0..<tasks * each).flatMap { _ in ["+a", "-a"] })
    }
    await dispatcher.lanesAreGone()
  }

  @Test func lanesOfAThousandKeysAreEachInOrder() async {
    let (dispatcher, keys) = (Dispatcher(), 1_000)
    let stores = (0..<keys).map { dispatcher.register(store: CounterStore.counter("\($0)")) }
    await withDiscardingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for key in (0..<keys).shuffled() {
            await stores[key].send(.add(1), mode: .serial(lane: key))
          }
        }
      }
    }
    #expect(stores.allSatisfy { $0.model.count == 8 })
    await dispatcher.lanesAreGone()
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func cancelledAtAnyTimeItLeavesTheLane(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), Recorder<String>())
    let store = dispatcher.addProbe("a", style: .suspending, to: log)
    let ended = await withTaskGroup { group in
      for index in 0..<Load.count(400) {
        group.addTask {
          let task = Task { await dispatcher.send(Ping(), mode: mode) }
          if index % 3 == 0 { await Task.yield() }
          if index % 2 == 0 { task.cancel() }
          let result = await task.value
          #expect(result.isSuccess || index % 2 == 0 && result.error is CancellationError)
          return result.isSuccess ? 1 : 0
        }
      }
      return await group.reduce(0, +)
    }
    #expect(store.model >= ended)
    #expect(await dispatcher.send(Ping(), mode: mode).isSuccess)
    await dispatcher.lanesAreGone()
  }
}
