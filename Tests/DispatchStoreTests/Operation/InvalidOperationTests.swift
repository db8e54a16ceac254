import DispatchStore
import Foundation
import Testing

/// What a reducer may not return.
@Suite("An operation that can't run", .timeLimit(.minutes(10)))
struct InvalidOperationTests {
  var (dispatcher, stage) = makeStage()
  let log = Recorder<String>()

  private func expectInvalid(
    _ script: some ActionType, _ words: String, in mode: Dispatcher.Mode,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let result = await dispatcher.dispatch(action: script, mode: mode).result
    let error = result.error as? DispatchError
    #expect(error?.code == .invalidOperation, sourceLocation: sourceLocation)
    #expect(error?.message.contains(words) == true, sourceLocation: sourceLocation)
    #expect(log.all.isEmpty, sourceLocation: sourceLocation)
    #expect(await dispatcher.dispatch(action: Script.adds("next"), mode: mode).result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneThatWasStartedFails(_ mode: Dispatcher.Mode) async {
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      operation.start()
      return operation
    }
    await expectInvalid(script, "was started or returned before", in: mode)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneThatIsReturnedTwiceFailsTheSecondTime(_ mode: Dispatcher.Mode) async {
    let kept = Recorder<Script.Operation>()
    let first = Script.answers { action, store in
      kept.record(Script.Operation(action: action, store: store) { _, _ in })
      return kept.all[0]
    }
    #expect(await dispatcher.dispatch(action: first, mode: mode).result.isSuccess)
    await expectInvalid(Script.answers { _, _ in kept.all[0] }, "returned before", in: mode)
  }

  /// Which then runs it, or the dispatch does; both end.
  @Test(.timeLimit(.minutes(1)), arguments: Dispatcher.Mode.everyMode, BlockKind.allCases)
  func oneThatIsInAQueueThatRunsFailsOrEnds(_ mode: Dispatcher.Mode, _ kind: BlockKind) async {
    let (queue, dispatcher, ends) = (OperationQueue.wide(4), dispatcher, EventCount(of: 4))
    let script = Script.answers { action, store in
      let operation = kind.operation(action, in: store)
      queue.addOperation(operation)
      return operation
    }
    await onOwnThreads(4) { _ in
      for _ in 0..<Load.count(150, long: 500) {
        let result = dispatcher.dispatch(action: script, mode: mode).wait()
        #expect(result.isSuccess || result.errorCode == .invalidOperation, "\(result)")
      }
      ends.add()
    }
    await ends.full()
    await onOwnThread { queue.waitUntilAllOperationsAreFinished() }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneThatWasMadeForAnotherStoreFails(_ mode: Dispatcher.Mode) async {
    let other = Stage(identifier: "other", model: [], reducer: ScriptReducer())
    let script = Script.answers { [log] action, _ in
      Script.Operation(action: action, store: other) { _, _ in log.record("ran") }
    }
    await expectInvalid(script, "in store \"stage\" was made for store \"other\"", in: mode)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneThatWasMadeForAnotherActionFails(_ mode: Dispatcher.Mode) async {
    let reducer = ClosureReducer<Int, Ping> { [log] _, store in
      ActionOperation(action: Ping(name: "other"), store: store) { _, _ in log.record("ran") }
    }
    dispatcher.register(store: ProbeStore(identifier: "probe", model: 0, reducer: reducer))
    await expectInvalid(Ping(name: "dispatched"), "was made for another action", in: mode)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [true, false])
  func oneThatIsInAQueueFails(_ mode: Dispatcher.Mode, _ hasDependency: Bool) async {
    let (queue, kept) = (OperationQueue(), Recorder<Script.Operation>())
    queue.isSuspended = true
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      if hasDependency {
        let before = BlockOperation {}
        operation.addDependency(before)
        before.start()
      }
      queue.addOperation(operation)
      kept.record(operation)
      return operation
    }
    await expectInvalid(script, "is in an OperationQueue", in: mode)
    // The queue runs it.
    #expect(kept.all[0].outcome == nil)
    queue.isSuspended = false
    await onOwnThread { queue.waitUntilAllOperationsAreFinished() }
    #expect(kept.all[0].outcome?.isFinished == true)
  }
}
