import DispatchStore
import Foundation
import Testing

/// Mistakes of earlier systems that must not come back.
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

  @Test func unregisteringAStoreRemovesThatOneAndKeepsTheOthers() {
    let dispatcher = Dispatcher()
    let stores = ["a", "b", "c"].map { dispatcher.addStage($0) }
    dispatcher.unregister(store: stores[1])
    #expect(dispatcher.stores.map(\.identifier) == ["a", "c"])
    dispatcher.dispatch(action: Script.adds("x"), mode: .sync)
    #expect(stores.map(\.model.count) == [1, 0, 1])
  }

  @Test func injectChangesTheModel() {
    let stage = Dispatcher().addStage()
    stage.inject(model: ["injected"])
    #expect(stage.model == ["injected"])
    #expect(stage.version == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCompletionRunsOnceNotOncePerStore(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, ended) = (Dispatcher(), log, Latch())
    for name in ["a", "b", "c"] { dispatcher.addStage(name) }
    let script = Script.runs { _ in log.record("operation") }
    dispatcher.dispatch(action: script, mode: mode) {
      dispatcher.dispatch(action: script, mode: mode) {
        dispatcher.dispatch(action: script, mode: mode) {
          dispatcher.dispatch(action: script, mode: mode) { ended.open() }
        }
      }
    }
    await ended.opened()
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(log.count == 12)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aCompletionRunsAlsoWhereNoStoreResponds(_ mode: Dispatcher.Mode) async {
    Dispatcher().dispatch(action: Ping(), mode: mode) { [log] in log.record("no responder") }
    #expect(await log.first(1) == ["no responder"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode.filter { $0 != .sync })
  func aCompletionRunsAlsoWhereAWeakStoreDied(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log, released) = (Dispatcher(), log, Latch())
    dispatcher.addStage()
    let holding = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: .serial(lane: "held"))
    do {
      let stage = Stage(identifier: "weak", model: [], reducer: ScriptReducer())
      dispatcher.register(store: stage, ownership: .weak)
      dispatcher.dispatch(Script.adds("lost"), to: "weak", mode: mode, options: .after(holding)) {
        log.record("\($0.stores.map(\.outcome.description))")
      }
    }
    released.open()
    #expect(await log.first(1) == ["[\"cancelled\"]"])
  }

  @Test func storesMayBeRegisteredOnAnyThread() async {
    let dispatcher = Dispatcher()
    await onOwnThreads(4) { index in dispatcher.addStage("\(index)") }
    #expect(Set(dispatcher.stores.map(\.identifier)) == ["0", "1", "2", "3"])
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

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aListOfActionsRunsForwards(_ mode: Dispatcher.Mode) async {
    let (dispatcher, stage) = makeStage()
    let actions = ["first", "second", "third"].map { Script.adds($0) }
    _ = await dispatcher.dispatch(actions: actions, mode: mode).result
    #expect(stage.model == ["first", "second", "third"])
  }
}
