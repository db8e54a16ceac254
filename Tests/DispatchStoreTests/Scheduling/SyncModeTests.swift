import DispatchStore
import Foundation
import Testing

@Suite("sync", .timeLimit(.minutes(10)))
struct SyncModeTests {
  var (dispatcher, stage) = makeStage(Dispatcher(queue: .wide(1)))
  let log = Recorder<String>()

  /// Dispatches a block of each kind, and expects all of it on this thread before the return.
  private static func expectAllOnThisThread(_ dispatcher: Dispatcher, _ stage: Stage) {
    let thread = Here.thread
    let threads = Recorder<Int>()
    let middleware = RecordingMiddleware(
      will: { _, _, _ in
        threads.record(Here.thread)
        return .pass
      }, did: { _, _, _ in threads.record(Here.thread) })
    dispatcher.register(middleware: middleware)
    let token = stage.observe(.model) { _ in threads.record(Here.thread) }
    let block: @Sendable (Stage) -> Void = { store in
      threads.record(Here.thread)
      store.updateModel { $0.append("ran") }
    }
    let suspending: @Sendable (Stage) async -> Void = { store in
      block(store)
      await Task.yield()
      threads.record(Here.thread)
    }
    let controlled: @Sendable (Script.Running, Stage) -> Void = { operation, store in
      block(store)
      operation.finish()
    }
    let scripts = [
      Script.runs("returning", block), .controls("controlled", controlled),
      .suspends("suspending", suspending),
    ]
    for script in scripts {
      let handle = dispatcher.dispatch(action: script, mode: .sync) { threads.record(Here.thread) }
      #expect(handle.hasEnded)
    }
    #expect(threads.count == 5 + 5 + 6)
    #expect(threads.all.allSatisfy { $0 == thread })
    token.cancel()
    dispatcher.unregister(middleware: middleware)
  }

  @Test func runsOnTheCallersThreadBeforeItReturns() async {
    await onOwnThread { [dispatcher, stage] in Self.expectAllOnThisThread(dispatcher, stage) }
  }

  @Test func runsOnTheCallersThreadInAnAsyncContext() async {
    await Task.detached { [dispatcher, stage] in
      Self.expectAllOnThisThread(dispatcher, stage)
    }.value
  }

  @MainActor @Test func runsOnTheMainQueueWhenCalledThere() {
    let wasMain = Here.isMainQueue
    Self.expectAllOnThisThread(dispatcher, stage)
    let places = Recorder<Bool>()
    let script = Script.suspends { _ in places.record(Here.isMainQueue) }
    dispatcher.dispatch(action: script, mode: .sync)
    #expect(wasMain)
    #expect(places.all == [true])
  }

  @Test(
    arguments: Dispatcher.Mode.everyMode, [BlockKind.returning, .controlled, .suspending])
  func runsInsideAnyOperation(_ mode: Dispatcher.Mode, _ kind: BlockKind) async {
    let (dispatcher, stage, log) = (dispatcher, stage, log)
    let script = kind.script { Self.expectAllOnThisThread(dispatcher, stage) }
    Thread { dispatcher.dispatch(action: script, mode: mode) { log.record("ended") } }.start()
    #expect(await log.first(1) == ["ended"])
  }

  @Test func blocksItsCallerUntilACallbackComes() async {
    await onOwnThread { [dispatcher, log] in
      let script = Script.controls { operation, _ in
        Thread {
          log.record("callback")
          operation.finish()
        }.start()
      }
      dispatcher.dispatch(action: script, mode: .sync)
      log.record("returned")
    }
    #expect(log.all == ["callback", "returned"])
  }

  @Test func aCallerReadsItsOwnWrites() async {
    await onOwnThreads(4) { [dispatcher] index in
      let own = dispatcher.addStage("own \(index)")
      for round in 1...50 {
        dispatcher.dispatch(
          storeIdentifier: "own \(index)", action: Script.adds("write"), mode: .sync)
        #expect(own.model.count == round)
      }
    }
  }

  @Test func manyTasksThatDispatchAsyncBlocksDoNotStarve() async {
    let (dispatcher, log) = (dispatcher, log)
    let counter = Tally()
    await withTaskGroup { group in
      for _ in 0..<64 {
        group.addTask {
          let script = Script.suspends { _ in
            async let child: Void = counter.add()
            await Task.yield()
            await counter.add()
            await child
          }
          dispatcher.dispatch(action: script, mode: .sync) { log.record("ended") }
        }
      }
    }
    #expect(log.count == 64)
    #expect(await counter.count == 128)
  }

  @Test func theCallersTaskIsRestoredAfterwards() async {
    await Task.detached { [dispatcher] in
      let task = withUnsafeCurrentTask { $0?.hashValue }
      dispatcher.dispatch(action: Script.suspends { _ in await Task.yield() }, mode: .sync)
      #expect(withUnsafeCurrentTask { $0?.hashValue } == task)
      await Task.yield()
      #expect(withUnsafeCurrentTask { $0?.hashValue } == task)
    }.value
  }
}

private actor Tally {
  var count = 0
  func add() { count += 1 }
}
