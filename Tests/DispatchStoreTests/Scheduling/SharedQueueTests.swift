import DispatchStore
import Foundation
import Testing

/// Several dispatchers, and operations of the user, in one queue.
@Suite("A queue that dispatchers share", .timeLimit(.minutes(10)))
struct SharedQueueTests {
  let queue = OperationQueue.wide(1)
  let first: Dispatcher
  let second: Dispatcher
  let log = Recorder<String>()

  init() {
    (first, second) = (Dispatcher(queue: queue), Dispatcher(queue: queue))
    first.addStage()
    second.addStage()
  }

  private func records(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record(name) }
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, Dispatcher.Mode.offMainModes)
  func aBlockMayWaitForWhatAnotherDispatcherHasQueuedThere(
    _ mode: Dispatcher.Mode, _ queued: Dispatcher.Mode
  ) async {
    let (second, behind, after, log) = (second, records("behind"), records("after"), log)
    let script = Script.runs { _ in
      let handle = second.dispatch(action: behind, mode: queued)
      second.dispatch(action: after, mode: .sync, options: .after(handle))
      log.record("block")
    }
    #expect(await first.dispatch(action: script, mode: mode).result.isSuccess)
    #expect(log.all.suffix(3) == ["behind", "after", "block"])
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aUsersOperationMayWaitForWhatIsQueuedThere(_ queued: Dispatcher.Mode) async {
    let (first, behind, after, log) = (first, records("behind"), records("after"), log)
    queue.addOperation {
      let handle = first.dispatch(action: behind, mode: queued)
      first.dispatch(action: after, mode: .sync, options: .after(handle))
      log.record("operation")
    }
    #expect(await log.first(3) == ["behind", "after", "operation"])
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func aBlockMayWaitForAUsersOperationThere(_ mode: Dispatcher.Mode) async {
    let (first, queue, log) = (first, queue, log)
    let script = Script.runs { _ in
      let operation = BlockOperation { log.record("operation") }
      queue.addOperation(operation)
      first.dispatch(action: Script.waits(for: operation) { _ in log.record("inner") }, mode: .sync)
      log.record("block")
    }
    #expect(await first.dispatch(action: script, mode: mode).result.isSuccess)
    #expect(log.all == ["operation", "inner", "block"])
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func afterSuchWaitsItIsAsWideAsBefore(_ mode: Dispatcher.Mode) async {
    for _ in 0..<4 { await aBlockMayWaitForWhatAnotherDispatcherHasQueuedThere(mode, .async) }
    let (crowd, ends) = (Crowd(of: 1), EventCount(of: 40))
    for index in 0..<40 {
      let dispatcher = index.isMultiple(of: 2) ? first : second
      dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }, mode: mode) { ends.add() }
    }
    await ends.full()
    #expect(crowd.largest == 1)
  }
}
