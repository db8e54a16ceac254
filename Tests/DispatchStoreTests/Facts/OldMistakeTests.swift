import DispatchStore
import Foundation
import Testing

/// Mistakes of earlier systems that must not come back, as far as the tests of their subjects do not check them.
@Suite("Old mistakes", .timeLimit(.minutes(10)))
struct OldMistakeTests {
  let log = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSerialLaneIsNotTwoWide(_ mode: Dispatcher.Mode) async {
    let (dispatcher, crowd, ends) = (Dispatcher(queue: .wide(4)), Crowd(of: 1), Recorder<Int>())
    dispatcher.addStage()
    await onOwnThreads(4) { producer in
      for index in 0..<100 {
        dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }, mode: mode) {
          ends.record(producer * 100 + index)
        }
      }
    }
    _ = await ends.first(400)
    #expect(crowd.largest == 1)
  }

  @MainActor @Test func observersAreNotNotifiedByABlockingCallToTheMainQueue() {
    let (dispatcher, log) = (Dispatcher(), log)
    let stage = dispatcher.addStage()
    let tokens = [
      stage.observe(.model) { _ in log.record("inline") },
      stage.observe(.model, on: .main) { _ in log.record("main") },
    ]
    // The main queue is busy here: a call that waited for it would not return.
    dispatcher.dispatch(action: Script.adds("a"), mode: .sync)
    let thread = Thread {
      dispatcher.dispatch(action: Script.adds("b"), mode: .sync)
      log.record("returned")
    }
    thread.start()
    log.waitFor(3)
    #expect(log.all == ["inline", "inline", "returned"])
    for token in tokens { token.cancel() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func didDispatchComesAfterTheOperationHasFinished(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), log)
    dispatcher.addStage()
    let operations = Recorder<Script.Operation>()
    dispatcher.register(
      middleware: RecordingMiddleware(did: { transaction, _, _ in
        let operation = operations.all[0]
        log.record("finished: \(operation.isFinished), \(transaction.outcome)")
      }))
    let script = Script.controls { operation, _ in
      operations.record(operation.operation)
      Thread { operation.finish(throwing: CancellationError()) }.start()
    }
    await onOwnThread { _ = dispatcher.dispatch(action: script, mode: mode) }
    #expect(await log.first(1) == ["finished: true, cancelled"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func aDispatchInsideAReducerIsNotLost(_ outer: Dispatcher.Mode, _ inner: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), log)
    let stage = dispatcher.addStage()
    let script = Script.answers { action, store in
      dispatcher.dispatch(action: Script.adds("inner"), mode: inner) { log.record("inner") }
      return Script.Operation(action: action, store: store) { _, store in
        store.updateModel { $0.append("outer") }
      }
    }
    dispatcher.dispatch(action: script, mode: outer) { log.record("outer") }
    #expect(Set(await log.first(2)) == ["inner", "outer"])
    #expect(Set(stage.model) == ["inner", "outer"])
  }
}
