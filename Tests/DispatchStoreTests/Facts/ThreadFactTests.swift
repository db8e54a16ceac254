import DispatchStore
import Foundation
import Testing

/// What threads, queues and tasks do on Linux, and what the library guarantees all the same: facts 5
/// to 11 of the design.
@Suite("Facts about threads", .timeLimit(.minutes(10)))
struct ThreadFactTests {
  let log = Recorder<String>()

  // 5. A pool thread that blocks on another pooled operation stalls.

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func fact5OperationsThatWaitForOthersInTheirPoolDoNotStall(_ mode: Dispatcher.Mode) async {
    let (dispatcher, ends) = (Dispatcher(queue: .wide(2)), Recorder<Int>())
    dispatcher.addStage()
    let inner = Script.suspends { _ in await Task.yield() }
    for index in 0..<64 {
      let script = Script.runs { _ in
        let pooled = dispatcher.dispatch(action: inner, mode: .async)
        dispatcher.dispatch(action: inner, mode: .sync, options: .after(pooled))
      }
      dispatcher.dispatch(action: script, mode: mode) { ends.record(index) }
    }
    #expect(await ends.first(64).count == 64)
  }

  // 6. completionBlock runs later, on another queue; waiting does not wait for it.

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fact6AwaitingWaitsForTheCompletion(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), log)
    dispatcher.addStage()
    for round in 0..<200 {
      _ = await dispatcher.dispatch(action: Script.adds(""), mode: mode) { log.record("") }.result
      #expect(log.count == round + 1)
    }
  }

  // 7. Under an async main, the main queue leaves the main thread.

  @MainActor @Test(arguments: Dispatcher.Mode.everyMode)
  func fact7TheMainQueueMayDispatchAndBeDispatchedToAfterASuspension(
    _ mode: Dispatcher.Mode
  ) async {
    let (dispatcher, log) = (Dispatcher(), log)
    let stage = dispatcher.addStage()
    let token = stage.observe(.model, on: .main) { _ in
      log.record("observed on main: \(Here.isMainQueue)")
    }
    await Task.yield()
    #expect(Here.isMainQueue)
    let script = Script.runs { store in
      store.updateModel { $0.append("a") }
      dispatcher.dispatch(
        action: Script.runs { _ in log.record("ran on main: \(Here.isMainQueue)") },
        mode: .mainThread)
    }
    _ = await dispatcher.dispatch(action: script, mode: mode).result
    #expect(Set(await log.first(2)) == ["observed on main: true", "ran on main: true"])
    token.cancel()
  }

  // 8. Thread Sanitizer must see the order that the library promises.

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fact8WhatABlockWroteIsVisibleToAllThatComesAfter(_ mode: Dispatcher.Mode) async {
    final class Box: @unchecked Sendable {
      // because the library's order guards it: that is what is tested
      var value = 0
    }
    let (dispatcher, box) = (Dispatcher(), Box())
    dispatcher.addStage()
    let increments: [Script] = [
      .runs { _ in box.value += 1 },
      .suspends { _ in
        box.value += 1
        await Task.yield()
        box.value += 1
      },
      .controls { operation, _ in
        DispatchQueue.global().async {
          box.value += 1
          operation.finish()
        }
      },
    ]
    var expected = 0
    for (script, count) in zip(increments, [1, 2, 1]) {
      let handle = await onOwnThread {
        dispatcher.dispatch(action: script, mode: mode) { box.value += 1 }
      }
      let after = Script.runs { _ in box.value += 1 }
      let last = await onOwnThread {
        dispatcher.dispatch(action: after, mode: mode, options: .after(handle))
      }
      _ = await last.result
      expected += count + 2
      #expect(box.value == expected)
    }
  }

  // 10. Child tasks and default actors stay on a task executor; unstructured tasks leave it.

  @Test func fact10ChildTasksAndActorsOfASyncBlockStayOnTheCallersThread() async {
    let (dispatcher, threads) = (Dispatcher(), Recorder<Int>())
    dispatcher.addStage()
    let place = Place()
    let own = await onOwnThread {
      let script = Script.suspends { _ in
        async let child = place.thread
        await withTaskGroup { group in
          for _ in 0..<4 { group.addTask { threads.record(Here.thread) } }
        }
        threads.record(await child)
        threads.record(await Task.detached { Here.thread }.value)
      }
      dispatcher.dispatch(action: script, mode: .sync)
      return Here.thread
    }
    #expect(threads.all.prefix(5).allSatisfy { $0 == own })
    #expect(threads.all.last != own)
  }

  // 11. A queue that is one wide is first in, first out only among equal priorities.

  @Test(arguments: [1, 4])
  func fact11ALaneKeepsItsOrderWhateverElseIsInItsQueue(_ width: Int) async {
    let queue = OperationQueue.wide(width)
    let (dispatcher, log) = (Dispatcher(queue: queue), Recorder<Int>())
    dispatcher.addStage()
    for index in 0..<200 {
      let foreign = BlockOperation {}
      foreign.queuePriority = [.veryLow, .normal, .veryHigh][index % 3]
      queue.addOperation(foreign)
      dispatcher.dispatch(action: Script.runs { _ in log.record(index) }, mode: .serial)
    }
    #expect(await log.first(200) == Array(0..<200))
  }
}

private actor Place {
  var thread: Int { Here.thread }
}
