import DispatchStore
import Foundation
import Testing

@Suite("Handles", .timeLimit(.minutes(10)))
struct HandleTests {
  var (dispatcher, stage) = makeStage()

  /// A statement that uses no result, without a warning, which would be an error.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func canBeAwaitedForTheEndAlone(_ mode: Dispatcher.Mode) async {
    await stage.dispatch(.adds("a"), mode: mode).ended()
    #expect(stage.model == ["a"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func resultSaysHowEachStoreEnded(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("second")
    let script = Script.runs { store in
      if store.identifier == "second" { throw StageFright() }
    }
    let result = await dispatcher.dispatch(action: script, mode: mode).result
    #expect(result["stage"].isFinished == true)
    #expect(result["second"].error is StageFright)
    #expect(result["nobody"].description == "not involved")
    #expect(result[stage].isFinished)
    #expect(result.error is StageFright)
    #expect(!result.isSuccess)
    #expect(result.steps.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func sayHowADispatchEndedOnceItHas(_ mode: Dispatcher.Mode) async {
    let failing = dispatcher.dispatch(action: Script.runs { _ in throw StageFright() }, mode: mode)
    let fine = dispatcher.dispatch(action: Script.adds("fine"), mode: mode)
    if mode == .sync {
      #expect(failing.resultIfEnded?.error is StageFright)
      #expect(fine.resultIfEnded?["stage"].isFinished == true)
      #expect(failing.resultIfEnded?.error is StageFright)
    }
    _ = await (failing.result, fine.result)
    #expect(failing.resultIfEnded?.error is StageFright)
    #expect(fine.resultIfEnded?.dispatchID == fine.dispatchID)
    #expect(failing.resultIfEnded?.error is StageFright)
    #expect(fine.resultIfEnded?.error == nil)
    let held = Latch()
    let pending = dispatcher.dispatch(
      action: Script.suspends { _ in await held.opened() }, mode: .serial)
    #expect(pending.resultIfEnded == nil)
    held.open()
    #expect(await pending.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func getThrowsTheFirstErrorAndNothingElse(_ mode: Dispatcher.Mode) async throws {
    let result = try await dispatcher.dispatch(action: Script.adds("fine"), mode: mode).get()
    #expect(result.isSuccess)
    let failing = dispatcher.dispatch(action: Script.runs { _ in throw StageFright() }, mode: mode)
    await #expect(throws: StageFright.self) { try await failing.get() }
    let cancelled = dispatcher.dispatch(
      action: Script.runs { _ in throw CancellationError() }, mode: mode)
    await #expect(throws: CancellationError.self) { try await cancelled.get() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayBeAwaitedByManyAndAgainAfterTheEnd(_ mode: Dispatcher.Mode) async {
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in await Task.yield() }, mode: mode)
    let transactions = await withTaskGroup(of: DispatchID.self) { group in
      for _ in 0..<20 { group.addTask { await handle.result.dispatchID } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(transactions == Array(repeating: handle.dispatchID, count: 20))
    #expect(await handle.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func droppingOneCancelsNothing(_ mode: Dispatcher.Mode) async {
    let (dispatcher, ended, queued) = (dispatcher, Recorder<Bool>(), Latch())
    Thread.detachNewThread {
      dispatcher.dispatch(
        Script.suspends { _ in
          await queued.opened()
          try Task.checkCancellation()
        }, mode: mode
      ) { ended.record($0.isSuccess) }
    }
    queued.open()
    #expect(await ended.first(1) == [true])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func cancellingATaskThatAwaitsNeitherCancelsNorEndsTheWait(_ mode: Dispatcher.Mode) async {
    let (released, awaiting) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      action: Script.suspends { _ in
        await released.opened()
        try Task.checkCancellation()
      }, mode: mode)
    let waiter = Task {
      awaiting.open()
      let result = await handle.result
      return (result.isSuccess, released.isOpen, Task.isCancelled)
    }
    await awaiting.opened()
    waiter.cancel()
    _ = await dispatcher.dispatch(action: Script.adds("other"), mode: .serial(lane: "x")).result
    #expect(!handle.hasEnded)
    released.open()
    #expect(await waiter.value == (true, true, true))
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func waitingForSeveralHandlesWaitsForAllHoweverTheyEnd(_ mode: Dispatcher.Mode) async {
    let log = Recorder<String>()
    let latches = (0..<3).map { _ in Latch() }
    let handles = latches.enumerated().map { index, latch in
      dispatcher.dispatch(
        action: Script.suspends { _ in
          await latch.opened()
          log.record("\(index)")
          if index == 1 { throw StageFright() }
          if index == 2 { throw CancellationError() }
        }, mode: .serial(lane: index))
    }
    let after = dispatcher.dispatch(
      action: Script.runs { _ in log.record("after") }, mode: mode,
      options: .after(handles[0], handles[1], handles[2], handles[0]))
    for index in [2, 0, 1] {
      latches[index].open()
      _ = await handles[index].result
    }
    #expect(await after.result.isSuccess)
    #expect(log.all == ["2", "0", "1", "after"])
  }

  @Test(arguments: Dispatcher.SendMode.everyMode)
  func optionsOfALiteralAddUp(_ mode: Dispatcher.SendMode) async {
    let gates = [Latch(), Latch()]
    let held = gates.map { gate in
      dispatcher.dispatch(Script.suspends { _ in await gate.opened() })
    }
    let handle = dispatcher.dispatch(
      Script.adds("after"), mode: mode.mode,
      options: [.after(held[0]), .named("a"), [], .after(held[1]), .named("b")])
    #expect(dispatcher.dispatches(named: "a") == [handle])
    #expect(dispatcher.dispatches(named: "b") == [handle])
    gates[0].open()
    #expect(await held[0].result.isSuccess)
    #expect(!handle.hasEnded)
    gates[1].open()
    #expect(await handle.result.isSuccess)
    #expect(stage.model == ["after"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aResultSaysWhetherAnErrorIsTheDispatchers(_ mode: Dispatcher.Mode) async {
    dispatcher.addStage("second", waitFor: [stage])
    let result = await dispatcher.dispatch(
      action: Script.runs { _ in throw StageFright() }, mode: mode
    ).result
    #expect(result.error is StageFright)
    #expect(result.dispatchError == nil)
    #expect(result["stage"].isFailed == true)
    #expect(result["stage"].dispatchError == nil)
    #expect(result["second"].isFailed == true)
    #expect(result["second"].dispatchError?.code == .dependencyFailed)
  }
}
