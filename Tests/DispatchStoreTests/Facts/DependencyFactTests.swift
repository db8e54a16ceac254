import DispatchStore
import Foundation
import Testing

/// What Foundation's dependencies do on Linux, and what the library guarantees all the same: facts 1
/// to 4 and 12 of the design.
@Suite("Facts about dependencies", .timeLimit(.minutes(10)))
struct DependencyFactTests {
  let dispatcher = makeStage().dispatcher
  let log = Recorder<String>()

  // 1. addDependency loses wake-ups where the dependency runs or finishes at that moment.

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fact1ADependencyThatFinishesWhileItIsAddedIsNotMissed(_ mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let ends = await onOwnThread {
      let ends = Recorder<Int>()
      let baton = Recorder<BlockOperation>()
      let rounds = 500
      Thread {
        for round in 1...rounds {
          baton.waitFor(round)
          baton.all[round - 1].start()
        }
      }.start()
      for round in 0..<rounds {
        let script = Script.answers { action, store in
          let dependency = BlockOperation {}
          let operation = Script.Operation(action: action, store: store) { _, _ in }
          baton.record(dependency)
          operation.addDependency(dependency)
          return operation
        }
        dispatcher.dispatch(action: script, mode: mode) { ends.record(round) }
        ends.waitFor(round + 1)
      }
      return ends.count
    }
    #expect(ends == 500)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fact1WaitForNeverLosesAWakeUp(_ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    dispatcher.addStage("a")
    dispatcher.addStage("b", waitFor: ["a"])
    dispatcher.addStage("c", waitFor: ["a", "b"])
    let script = Script.controls { operation, _ in
      DispatchQueue.global().async { operation.finish() }
    }
    for _ in 0..<200 {
      let handle = await onOwnThread { dispatcher.dispatch(action: script, mode: mode) }
      #expect(await handle.result.isSuccess)
    }
  }

  // 2. removeDependency on an unfinished dependency hangs the dependent.

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func fact2ADependencyThatWasRemovedIsNotWaitedFor(
    _ mode: Dispatcher.Mode, meanwhile: Bool
  ) async {
    let (dispatcher, log, dependency) = (dispatcher, log, BlockOperation {})
    let returned = Recorder<Script.Operation>()
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      operation.addDependency(dependency)
      if !meanwhile { operation.removeDependency(dependency) }
      returned.record(operation)
      return operation
    }
    Thread { dispatcher.dispatch(action: script, mode: mode) { log.record("ended") } }.start()
    let operation = await returned.first(1)[0]
    if meanwhile { operation.removeDependency(dependency) }
    #expect(await log.first(1) == ["ended"])
    #expect(!dependency.isFinished)
  }

  // 3. Cancelling B in A → B → C starts C while A still runs.

  @Test(arguments: Dispatcher.Mode.laneModes)
  func fact3CancellingTheMiddleOfALaneStartsNothing(_ mode: Dispatcher.Mode) async {
    let (log, released) = (log, Latch())
    dispatcher.dispatch(
      action: Script.suspends { _ in
        await released.opened()
        log.record("a")
      }, mode: mode)
    let b = dispatcher.dispatch(action: Script.runs { _ in log.record("b") }, mode: mode)
    let c = dispatcher.dispatch(action: Script.runs { _ in log.record("c") }, mode: mode)
    b.cancel()
    _ = await b.result
    _ = await dispatcher.dispatch(action: Script.adds("x"), mode: .serial(lane: "x")).result
    await MainActor.run {}
    #expect(log.all.isEmpty)
    released.open()
    _ = await c.result
    #expect(log.all == ["a", "c"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fact3ACancelledStoreStartsNoLaterOneWhileTheOneBeforeItRuns(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), log)
    dispatcher.addStage("a")
    dispatcher.addStage("b", waitFor: ["a"])
    dispatcher.addStage("c", waitFor: WaitFor(["b"], runsRegardless: true))
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, store in
        log.record("+\(store.identifier)")
        for _ in 0..<10 { await Task.yield() }
        log.record("-\(store.identifier)")
      }
      if store.identifier == "b" { operation.cancel() }
      return operation
    }
    let result = await onOwnThread { dispatcher.dispatch(action: script, mode: mode) }.result
    #expect(result["b"].isCancelled == true)
    #expect(log.all == ["+a", "-a", "+c", "-c"])
  }

  // 4. Finished operations keep their dependencies alive; long chains overflow the stack.

  @Test func fact4AFinishedOperationKeepsNoDependency() {
    let stage = Stage(model: [], reducer: ScriptReducer())
    var last = Script.Operation(action: .adds(""), store: stage) { _, _ in }
    last.start()
    for _ in 0..<40_000 {
      let next = Script.Operation(action: .adds(""), store: stage) { _, _ in }
      next.addDependency(last)
      next.start()
      last = next
    }
    #expect(last.dependencies.isEmpty)
  }

  @Test func fact4AChainOfDispatchesThroughTheirOperationsIsReleased() async {
    let kept = Recorder<Script.Operation>()
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      if let last = kept.all.last { operation.addDependency(last) }
      kept.record(operation)
      return operation
    }
    for _ in 0..<500 { dispatcher.dispatch(action: script, mode: .serial) }
    #expect(await dispatcher.dispatch(action: script, mode: .serial).result.isSuccess)
    #expect(kept.all.filter { !$0.dependencies.isEmpty }.isEmpty)
  }

  @Test func fact4AChainOfFortyThousandHandlesIsReleased() async {
    let released = Latch()
    var last = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: .serial)
    for _ in 0..<Load.count(40_000) {
      last = dispatcher.dispatch(action: Ping(), options: .after(last))
    }
    released.open()
    #expect(await last.result.isSuccess)
  }

  @Test func fact4TenThousandMayWaitForOne() async {
    let (released, ends) = (Latch(), Recorder<Int>())
    let first = dispatcher.dispatch(
      action: Script.suspends { _ in await released.opened() }, mode: .serial)
    for index in 0..<10_000 {
      dispatcher.dispatch(action: Ping(), options: .after(first)) { ends.record(index) }
    }
    released.open()
    #expect(await ends.first(10_000).count == 10_000)
  }

  // 12. A finished operation in a queue traps, and one that was cancelled may run.

  @Test(arguments: Dispatcher.Mode.everyMode)
  func fact12AFinishedOperationIsAnErrorNotATrap(_ mode: Dispatcher.Mode) async {
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      operation.start()
      return operation
    }
    let result = await dispatcher.dispatch(action: script, mode: mode).result
    #expect(result.errorCode == .invalidOperation)
  }

  @Test(arguments: BlockKind.allCases)
  func fact12ACancelledOperationDoesNotRun(_ kind: BlockKind) {
    let stage = Stage(model: [], reducer: ScriptReducer())
    let operation = kind.operation(in: stage) { [log] in log.record("ran") }
    operation.cancel()
    operation.start()
    #expect(operation.isFinished)
    #expect(log.all.isEmpty)
  }
}
