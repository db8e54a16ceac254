import DispatchStore
import Foundation
import Testing

@Suite("mainThread", .timeLimit(.minutes(10)))
struct MainThreadModeTests {
  var (dispatcher, stage) = makeStage()
  let log = Recorder<String>()

  @MainActor @Test func isAlwaysEnqueuedAlsoFromTheMainQueue() async {
    #expect(Here.isMainQueue)
    let handle = dispatcher.dispatch(
      action: Script.runs { [log] _ in log.record("block") }, mode: .mainThread)
    log.record("returned")
    _ = await handle.result
    #expect(log.all == ["returned", "block"])
  }

  @Test func isEnqueuedAlsoFromInsideItsOwnOperation() async {
    let (dispatcher, log) = (dispatcher, log)
    let script = Script.runs { _ in
      dispatcher.dispatch(action: Script.runs { _ in log.record("inner") }, mode: .mainThread)
      log.record("outer")
    }
    dispatcher.dispatch(action: script, mode: .mainThread) { log.record("completion") }
    #expect(await log.first(3) == ["outer", "completion", "inner"])
  }

  @Test func runsOnTheMainQueueAndIsIsolatedToTheMainActor() async {
    let places = Recorder<Bool>()
    let middleware = RecordingMiddleware(did: { _, _, _ in places.record(Here.isMainQueue) })
    dispatcher.register(middleware: middleware)
    let token = stage.observe(.model) { _ in places.record(Here.isMainQueue) }
    let scripts: [Script] = [
      .runs { store in
        places.record(Here.isMainQueue)
        MainActor.assumeIsolated { store.updateModel { $0.append("ran") } }
      },
      .suspends { store in
        places.record(Here.isMainQueue)
        await Task.yield()
        store.updateModel { $0.append("suspended") }
      },
      .controls { operation, _ in
        places.record(Here.isMainQueue)
        DispatchQueue.main.async {
          operation.updateModel { $0.append("called back") }
          operation.finish()
        }
      },
    ]
    for script in scripts {
      dispatcher.dispatch(action: script, mode: .mainThread) { places.record(Here.isMainQueue) }
    }
    #expect(await places.first(12) == Array(repeating: true, count: 12))
    #expect(stage.model == ["ran", "suspended", "called back"])
    token.cancel()
  }

  @Test func completesOnTheMainQueueWhereverTheOperationEnded() async {
    let places = Recorder<Bool>()
    let script = Script.controls { operation, _ in
      Thread { operation.finish() }.start()
    }
    dispatcher.dispatch(action: script, mode: .mainThread) { places.record(Here.isMainQueue) }
    #expect(await places.first(1) == [true])
  }

  @Test func completesThereAlsoWithoutResponderOrWithAnError() async {
    let places = Recorder<Bool>()
    let note: @Sendable () -> Void = { places.record(Here.isMainQueue) }
    dispatcher.dispatch(action: Ping(), mode: .mainThread, then: note)
    dispatcher.dispatch(
      storeIdentifier: "nobody", action: Script.adds("lost"), mode: .mainThread, then: note)
    dispatcher.dispatch(actions: [], mode: .mainThread, then: note)
    #expect(await places.first(3) == [true, true, true])
  }

  @MainActor @Test func aFloodDelaysAnotherBlockOfTheMainQueueByABatchAtMost() async {
    let (ran, overtaken) = (EventCount(of: 1_000), Recorder<Int>())
    let script = Script.runs { _ in ran.add() }
    dispatcher.dispatch(action: script, mode: .mainThread)
    DispatchQueue.main.async { overtaken.record(ran.count) }
    for _ in 1..<1_000 { dispatcher.dispatch(action: script, mode: .mainThread) }
    #expect(await overtaken.first(1)[0] <= 64)
    await ran.full()
  }

  #if os(Linux)
    @Test func isServedUnderARunLoopToo() async {
      await #expect(processExitsWith: .exitCode(0)) { RunLoopProgram.execute() }
    }
  #endif
}
