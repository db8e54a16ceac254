import DispatchStore
import Foundation
import Testing

/// The kinds of block that an operation can have.
enum BlockKind: CaseIterable, Sendable {
  case returning, controlled, calledBack, suspending

  /// An operation that calls `body`, and then ends.
  func operation(
    _ action: Script = .adds("own"), in store: Stage, _ body: @escaping @Sendable () -> Void = {}
  ) -> Script.Operation {
    switch self {
    case .returning:
      Script.Operation(action: action, store: store) { _, _ in body() }
    case .controlled:
      Script.Operation(action: action, store: store) { operation, _, _ in
        body()
        operation.finish()
      }
    case .calledBack:
      Script.Operation(action: action, store: store) { operation, _, _ in
        DispatchQueue.global().async {
          body()
          operation.finish()
        }
      }
    case .suspending:
      Script.Operation(action: action, store: store) { _, _ in
        await Task.yield()
        body()
      }
    }
  }

  /// An action with such an operation.
  func script(_ body: @escaping @Sendable () -> Void = {}) -> Script {
    .answers { action, store in operation(action, in: store, body) }
  }
}

/// An `ActionOperation` as a plain `Operation`, in a user's queue.
@Suite("An operation in a user's queue", .timeLimit(.minutes(10)))
struct OwnQueueTests {
  let stage = Stage(identifier: "own", model: [], reducer: ScriptReducer())
  let queue = OperationQueue.wide(4)
  let log = Recorder<String>()

  @Test(arguments: BlockKind.allCases)
  func runsItsBlockOnceAndFinishes(_ kind: BlockKind) async {
    let operation = kind.operation(in: stage) { [log] in log.record("block") }
    operation.completionBlock = { [log] in log.record("completion") }
    #expect(!operation.isFinished && !operation.isExecuting && operation.outcome == nil)
    queue.addOperation(operation)
    #expect(await log.first(2) == ["block", "completion"])
    #expect(operation.isFinished && !operation.isExecuting)
    #expect(operation.outcome?.isFinished == true)
  }

  @Test(arguments: BlockKind.allCases)
  func waitUntilFinishedReturnsAfterItsEnd(_ kind: BlockKind) async {
    let operation = kind.operation(in: stage) { [log] in log.record("block") }
    queue.addOperation(operation)
    await onOwnThread { [log] in
      operation.waitUntilFinished()
      log.record("waited")
    }
    #expect(log.all == ["block", "waited"])
  }

  @Test(arguments: BlockKind.allCases)
  func waitsForAForeignOperationAndIsWaitedForByOne(_ kind: BlockKind) async {
    let before = BlockOperation { [log] in log.record("before") }
    let operation = kind.operation(in: stage) { [log] in log.record("block") }
    let after = BlockOperation { [log] in log.record("after") }
    operation.addDependency(before)
    after.addDependency(operation)
    queue.add(after, operation)
    #expect(log.all.isEmpty)
    queue.addOperation(before)
    #expect(await log.first(3) == ["before", "block", "after"])
  }

  @Test(arguments: BlockKind.allCases, BlockKind.allCases)
  func operationsDependOnEachOther(_ first: BlockKind, _ second: BlockKind) async {
    let operation = first.operation(in: stage) { [log] in log.record("first") }
    let dependent = second.operation(in: stage) { [log] in log.record("second") }
    dependent.addDependency(operation)
    queue.add(dependent, operation)
    #expect(await log.first(2) == ["first", "second"])
  }

  @Test(arguments: BlockKind.allCases)
  func cancelledBeforeItsStartItNeverRunsAndTheQueueContinues(_ kind: BlockKind) async {
    queue.isSuspended = true
    let operation = kind.operation(in: stage) { [log] in log.record("block") }
    let dependent = BlockOperation { [log] in log.record("dependent") }
    dependent.addDependency(operation)
    queue.add(operation, dependent)
    operation.cancel()
    queue.isSuspended = false
    #expect(await log.first(1) == ["dependent"])
    #expect(operation.isFinished && operation.isCancelled)
    #expect(operation.outcome?.isCancelled == true)
  }

  /// In a process of its own: on Linux, Foundation blocks a thread for ever that adds such a dependency.
  @Test func oneThatDependsOnItselfIsReadyOnlyOnceItIsCancelled() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let (queue, stage) = (OperationQueue.wide(1), Stage(model: [], reducer: ScriptReducer()))
      let removed = Script.Operation(action: .adds("removed"), store: stage) { _, _ in }
      removed.addDependency(removed)
      #expect(!removed.isReady)
      removed.removeDependency(removed)
      #expect(removed.isReady)
      let kept = Script.Operation(action: .adds("kept"), store: stage) { _, _ in }
      kept.addDependency(kept)
      queue.add(kept)
      #expect(!kept.isReady && kept.outcome == nil)
      kept.cancel()
      queue.add(removed)
      await onOwnThread { for operation in [removed, kept] { operation.waitUntilFinished() } }
      #expect(removed.outcome?.isFinished == true && kept.outcome?.isCancelled == true)
    }
  }

  @Test func cancelledAfterItsStartItEndsAsItsBlockSays() async {
    let (started, cancelled) = (Latch(), Latch())
    let operation = Script.Operation(action: .adds("own"), store: stage) { operation, _, _ in
      started.open()
      cancelled.wait()
      #expect(operation.isCancelled)
      operation.finish()
    }
    queue.addOperation(operation)
    await started.opened()
    operation.cancel()
    cancelled.open()
    await onOwnThread { operation.waitUntilFinished() }
    #expect(operation.isCancelled)
    #expect(operation.outcome?.isFinished == true)
  }

  /// Also where the block changes the store itself, not through its operation.
  @Test(arguments: [false, true])
  func whatItsBlockCommitsCarriesItsAction(isAsync: Bool) async {
    let stage = stage
    let actions = Recorder<String>()
    let token = stage.observe(.model) { actions.record($0.action.map { "\($0)" } ?? "none") }
    let script = Script.adds("own")
    let operation =
      isAsync
      ? Script.Operation(action: script, store: stage) { _, store in
        await Task.yield()
        store.updateModel { $0.append("1") }
      }
      : Script.Operation(action: script, store: stage) { _, store in
        store.updateModel { $0.append("1") }
      }
    queue.addOperation(operation)
    await onOwnThread { operation.waitUntilFinished() }
    stage.updateModel { $0.append("2") }
    #expect(actions.all == ["\(script)", "none"])
    token.cancel()
  }

  @Test func cancellingItCancelsTheTaskOfAnAsyncBlock() async {
    let (started, cancelled) = (Latch(), Latch())
    let operation = Script.Operation(action: .adds("own"), store: stage) { _, _ in
      started.open()
      await cancelled.openedOrCancelled()
      try Task.checkCancellation()
    }
    queue.addOperation(operation)
    await started.opened()
    operation.cancel()
    await onOwnThread { operation.waitUntilFinished() }
    #expect(operation.outcome?.isCancelled == true)
  }

  @Test func whatItsBlockThrowsIsItsOutcome() async {
    let failing = Script.Operation(action: .adds("own"), store: stage) { _, _ in
      throw StageFright(place: 3)
    }
    let cancelling = Script.Operation(action: .adds("own"), store: stage) { _, _, _ in
      throw CancellationError()
    }
    queue.add(failing, cancelling)
    await onOwnThread {
      failing.waitUntilFinished()
      cancelling.waitUntilFinished()
    }
    #expect(failing.outcome?.error as? StageFright == StageFright(place: 3))
    #expect(cancelling.outcome?.isCancelled == true)
    #expect(!cancelling.isCancelled)
  }

  @Test func droppedWithoutFinishItFailsAndTheQueueContinues() async {
    let warnings = stage.warningsOfAHome()
    let queue = OperationQueue.wide(1)
    let dropped = Script.Operation(action: .adds("own"), store: stage) { _, _, _ in }
    queue.addOperation(dropped)
    queue.addOperation(BlockKind.returning.operation(in: stage) { [log] in log.record("next") })
    #expect(await log.first(1) == ["next"])
    #expect(dropped.outcome?.errorCode == .operationAbandoned)
    #expect(warnings.recorder.all == [.abandoned])
  }

  @Test func startedTwiceItRunsOnce() async {
    let operation = BlockKind.controlled.operation(in: stage) { [log] in log.record("block") }
    operation.start()
    operation.start()
    #expect(log.all == ["block"])
    #expect(operation.outcome?.isFinished == true)
  }
}

extension Stage where Model == [String], Action == Script {
  /// Registers the store, so that its warnings are recorded; the caller keeps the dispatcher.
  fileprivate func warningsOfAHome() -> (
    dispatcher: Dispatcher, recorder: Recorder<DispatchWarning.Kind>
  ) {
    let dispatcher = Dispatcher()
    dispatcher.register(store: self)
    return (dispatcher, dispatcher.recordWarnings())
  }
}
