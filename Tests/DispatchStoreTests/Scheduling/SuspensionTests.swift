import DispatchStore
import Foundation
import Testing

@Suite("Suspension of the queue", .timeLimit(.minutes(10)))
struct SuspensionTests {
  let dispatcher = makeStage(Dispatcher(queue: .wide(2))).dispatcher
  let log = Recorder<String>()

  private func records(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record(name) }
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, [false, true])
  func whatWasStartedEnds(_ mode: Dispatcher.Mode, _ queuesBeforeSuspension: Bool) async {
    let (began, released) = (Latch(), Latch())
    let started = dispatcher.dispatch(
      action: Script.holds(opening: began, until: released), mode: mode)
    await began.opened()
    var next: [DispatchHandle] = []
    if queuesBeforeSuspension, mode != .async {
      next.append(dispatcher.dispatch(action: records("next"), mode: mode))
    }
    dispatcher.queue.isSuspended = true
    next.append(dispatcher.dispatch(action: records("next"), mode: mode))
    released.open()
    #expect(await started.result.isSuccess)
    _ = await dispatcher.dispatch(action: Script.adds("free"), mode: .mainThread).result
    #expect(log.all.isEmpty)
    dispatcher.queue.isSuspended = false
    for handle in next { #expect(await handle.result.isSuccess) }
  }

  @Test(.serialized, arguments: Dispatcher.Mode.offMainModes)
  func whatWasStartedEndsAlsoBehindAUsersOwnOperation(_ mode: Dispatcher.Mode) async {
    let queue = OperationQueue.wide(1)
    let dispatcher = Dispatcher(queue: queue)
    dispatcher.addStage()
    let running = Recorder<Script.Running>()
    let started = dispatcher.dispatch(
      action: Script.controls { operation, _ in running.record(operation) }, mode: mode)
    let operation = await running.first(1)[0]
    // A user's operation has the queue's only thread until the queue has been suspended.
    let (occupied, released) = (Latch(), Latch())
    queue.addOperation {
      occupied.open()
      released.wait()
    }
    await occupied.opened()
    operation.finish()
    queue.isSuspended = true
    released.open()
    #expect(await started.result.isSuccess)
    queue.isSuspended = false
  }

  // One after the other: each blocks a thread of the system, of which there are few.
  @Test(.serialized, arguments: Dispatcher.Mode.offMainModes, [true, false])
  func whatWasStartedEndsWhileAUsersOwnOperationHasTheQueue(
    _ mode: Dispatcher.Mode, _ isOfTheLibrary: Bool
  ) async {
    let dispatcher = isOfTheLibrary ? Dispatcher() : Dispatcher(queue: .wide(1))
    dispatcher.queue.maxConcurrentOperationCount = 1
    dispatcher.addStage()
    let running = Recorder<Script.Running>()
    let started = dispatcher.dispatch(
      action: Script.controls { operation, _ in running.record(operation) }, mode: mode)
    let operation = await running.first(1)[0]
    let (occupied, released) = (Latch(), Latch())
    dispatcher.queue.addOperation {
      occupied.open()
      released.wait()
    }
    await occupied.opened()
    operation.finish()
    #expect(await started.result.isSuccess)
    let next = dispatcher.dispatch(action: records("next"), mode: mode)
    _ = await dispatcher.dispatch(action: Script.adds("free"), mode: .mainThread).result
    #expect(!next.hasEnded)
    released.open()
    #expect(await next.result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aSequenceThatWasStartedStopsBetweenItsActionsAndContinuesLater(
    _ mode: Dispatcher.Mode
  ) async {
    let (dispatcher, log) = (dispatcher, log)
    let first = Script.runs { _ in
      dispatcher.queue.isSuspended = true
      log.record("first")
    }
    let ended = Latch()
    dispatcher.dispatch(actions: [first, records("second")], mode: mode) { ended.open() }
    _ = await log.first(1)
    for _ in 0..<20 {
      _ = await dispatcher.dispatch(action: Script.adds("free"), mode: .mainThread).result
    }
    #expect(log.all == ["first"])
    dispatcher.queue.isSuspended = false
    await ended.opened()
    #expect(log.all == ["first", "second"])
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func whatWaitsMayBeCancelledMeanwhile(_ mode: Dispatcher.Mode) async {
    dispatcher.queue.isSuspended = true
    let held = dispatcher.dispatch(action: records("held"), mode: mode)
    held.cancel()
    #expect(await held.result["stage"].isCancelled == true)
    dispatcher.queue.isSuspended = false
    #expect(await dispatcher.dispatch(action: records("next"), mode: mode).result.isSuccess)
    #expect(log.all == ["next"])
  }

  @Test func anEmptyListEndsMeanwhileInEveryMode() async {
    dispatcher.queue.isSuspended = true
    for mode in Dispatcher.Mode.everyMode {
      #expect(await dispatcher.dispatch(actions: [], mode: mode).result.isSuccess)
    }
    dispatcher.queue.isSuspended = false
  }
}
