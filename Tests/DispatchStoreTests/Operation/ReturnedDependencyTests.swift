import DispatchStore
import Foundation
import Testing

extension Script {
  /// A block that waits for a foreign operation, as a dependency of the one that is returned.
  static func waits(
    _ name: String = "waits", for dependencies: Foundation.Operation...,
    then block: @escaping @Sendable (Stage) -> Void = { _ in }
  ) -> Script {
    answers(name) { action, store in
      let operation = Operation(action: action, store: store) { _, store in block(store) }
      for dependency in dependencies { operation.addDependency(dependency) }
      return operation
    }
  }
}

/// Operations that a reducer returned with dependencies on operations that it made.
@Suite("Dependencies of a returned operation", .timeLimit(.minutes(10)))
struct ReturnedDependencyTests {
  let dispatcher = makeStage(Dispatcher(queue: .wide(1))).dispatcher
  let log = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areWaitedForInEveryMode(_ mode: Dispatcher.Mode) async {
    let first = BlockOperation { [log] in log.record("first") }
    let second = BlockOperation { [log] in log.record("second") }
    let ended = Latch()
    let script = Script.waits(for: first, second) { [log] _ in log.record("block") }
    Thread { [dispatcher] in
      dispatcher.dispatch(action: script, mode: mode) { ended.open() }
    }.start()
    second.start()
    first.start()
    await ended.opened()
    #expect(log.all == ["second", "first", "block"])
  }

  /// Under Thread Sanitizer, also without a race between the two threads.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayEndWhileTheReducerReturns(_ mode: Dispatcher.Mode) async {
    let queue = OperationQueue.wide(1)
    let script = Script.answers { action, store in
      let dependency = BlockOperation {}
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      operation.addDependency(dependency)
      queue.addOperation(dependency)
      while !dependency.isFinished { sched_yield() }
      return operation
    }
    for _ in 1...100 {
      let handle = await onOwnThread { [dispatcher] in
        dispatcher.dispatch(action: script, mode: mode)
      }
      #expect(await handle.result.isSuccess)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areWaitedForWithoutHoldingAThread(_ mode: Dispatcher.Mode) async {
    let dependency = BlockOperation {}
    let ended = Latch()
    let returned = Latch()
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      operation.addDependency(dependency)
      returned.open()
      return operation
    }
    Thread { [dispatcher] in
      dispatcher.dispatch(action: script, mode: mode) { ended.open() }
    }.start()
    await returned.opened()
    // The queue's only thread and the main queue are free.
    _ = await dispatcher.dispatch(action: Script.adds("async"), mode: .async).result
    _ = await dispatcher.dispatch(action: Script.adds("lane"), mode: .serial(lane: "free")).result
    await MainActor.run {}
    #expect(!ended.isOpen)
    dependency.start()
    await ended.opened()
  }

  /// Comparing each with all others would take seconds for ten thousand.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func areNotComparedWithEachOther(_ mode: Dispatcher.Mode) async {
    let (comparisons, returned) = (EventCount(of: .max), Latch())
    let dependencies = (0..<1_000).map { _ in ComparedOperation(comparisons) }
    let script = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      for dependency in dependencies { operation.addDependency(dependency) }
      returned.open()
      return operation
    }
    let handle = dispatcher.dispatch(action: script, mode: mode)
    await returned.opened()
    // The queue's only thread and the main queue are free, so that it waits for all of them.
    _ = await dispatcher.dispatch(action: Script.adds("async"), mode: .async).result
    await MainActor.run {}
    for dependency in dependencies { dependency.start() }
    #expect(await handle.result.isSuccess)
    #expect(comparisons.count == 0)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func holdTheirLaneMeanwhile(_ mode: Dispatcher.Mode) async {
    let dependency = BlockOperation { [log] in log.record("dependency") }
    let waiting = Script.waits(for: dependency) { [log] _ in log.record("waiting") }
    let next = Script.runs { [log] _ in log.record("next") }
    dispatcher.dispatch(action: waiting, mode: mode)
    let handle = dispatcher.dispatch(action: next, mode: mode)
    _ = await dispatcher.dispatch(action: Script.adds("async"), mode: .async).result
    await MainActor.run {}
    dependency.start()
    _ = await handle.result
    #expect(log.all == ["dependency", "waiting", "next"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func oneThatIsCancelledWhileItWaitsEndsWithoutRunning(_ mode: Dispatcher.Mode) async {
    let dependency = BlockOperation {}
    let returned = Latch()
    let script = Script.answers { [log] action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in log.record("ran") }
      operation.addDependency(dependency)
      returned.open()
      return operation
    }
    let handle = dispatcher.dispatch(action: script, mode: mode)
    await returned.opened()
    handle.cancel()
    #expect(await handle.result["stage"].isCancelled == true)
    #expect(log.all.isEmpty)
    #expect(await dispatcher.dispatch(action: Script.adds("next"), mode: mode).result.isSuccess)
    dependency.start()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayBeOperationsOfOtherStoresInAUsersQueue(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let queue = OperationQueue.wide(1)
    let other = Stage(identifier: "other", model: [], reducer: ScriptReducer())
    let load = Script.Operation(action: .adds("load"), store: other) { operation, _, store in
      DispatchQueue.global().async {
        operation.updateModel { $0.append("loaded") }
        operation.finish()
      }
    }
    let script = Script.waits(for: load) { _ in log.record("saw \(other.model)") }
    Thread { dispatcher.dispatch(action: script, mode: mode) { log.record("ended") } }.start()
    queue.addOperation(load)
    #expect(await log.first(2) == ["saw [\"loaded\"]", "ended"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aForeignOperationMayWaitForTheReturnedOne(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (dispatcher, log)
    let queue = OperationQueue.wide(1)
    let after = BlockOperation { log.record("after") }
    let script = Script.answers { action, store in
      let operation = BlockKind.calledBack.operation(in: store) { log.record("block") }
      let returned = Script.Operation(action: action, store: store) { _, _ in
        log.record("returned")
      }
      returned.addDependency(operation)
      after.addDependency(returned)
      queue.add(after, operation)
      return returned
    }
    Thread { dispatcher.dispatch(action: script, mode: mode) }.start()
    #expect(await log.first(3) == ["block", "returned", "after"])
  }
}

/// Counts how often it is compared with another one.
private final class ComparedOperation: Foundation.Operation, @unchecked Sendable {
  // because it adds only a constant
  private let comparisons: EventCount

  init(_ comparisons: EventCount) {
    self.comparisons = comparisons
  }

  override func isEqual(_ object: Any?) -> Bool {
    comparisons.add()
    return super.isEqual(object)
  }
}
