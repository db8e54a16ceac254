import DispatchStore
import Foundation
import Testing

/// What `super.operation(for:in:)` returns to an override is an operation like any other.
@Suite("The operation of a plain reduction", .timeLimit(.minutes(10)))
struct SuperOperationTests {
  typealias Operation = VisitedReducer.Operation

  let dispatcher = Dispatcher()
  let log = Recorder<String>()

  /// Dispatches on a new thread, because `.sync` may block it.
  private func dispatch(_ mode: Dispatcher.Mode, value: Int = 0) async -> DispatchResult {
    let (dispatcher, results) = (dispatcher, Recorder<DispatchResult>())
    Thread {
      dispatcher.dispatch(Append(value: value), mode: mode) { results.record($0) }
    }.start()
    return await results.first(1)[0]
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isForTheActionAndTheStoreAndHasNotStarted(_ mode: Dispatcher.Mode) async {
    let seen = Recorder<[Bool]>()
    let store = dispatcher.addVisited { operation in
      seen.record([operation.isReady, operation.isExecuting, operation.isFinished])
      return nil
    }
    #expect(await dispatch(mode, value: 7).isSuccess)
    #expect(seen.all == [[true, false, false]])
    #expect(store.model == [7])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func waitsForDependencies(_ mode: Dispatcher.Mode) async {
    let (log, dependency, returned) = (log, BlockOperation(), Latch())
    dependency.addExecutionBlock { log.record("dependency") }
    let store = dispatcher.addVisited { operation in
      operation.addDependency(dependency)
      returned.open()
      return nil
    }
    let token = store.observe(.model) { _ in log.record("reduced") }
    async let result = dispatch(mode)
    await returned.opened()
    #expect(log.count == 0)
    await onOwnThread { dependency.start() }
    #expect(await result.isSuccess)
    #expect(log.all == ["dependency", "reduced"])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func callsItsCompletionBlock(_ mode: Dispatcher.Mode) async {
    let log = log
    let store = dispatcher.addVisited { operation in
      operation.completionBlock = { log.record("completed") }
      return nil
    }
    #expect(await dispatch(mode).isSuccess)
    #expect(await log.first(1) == ["completed"])
    #expect(store.model == [0])
    #expect(await dispatch(mode).isSuccess)
    #expect(await log.first(2).count == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, BlockKind.allCases)
  func oneThatTheReducerMadeCallsItsCompletionBlockToo(_ mode: Dispatcher.Mode, _ kind: BlockKind)
    async
  {
    let (dispatcher, log) = (Dispatcher(), log)
    dispatcher.addStage()
    let script = Script.answers { action, store in
      let operation = kind.operation(action, in: store) { log.record("block") }
      operation.completionBlock = { log.record("completed") }
      return operation
    }
    let handle = await onOwnThread { dispatcher.dispatch(action: script, mode: mode) }
    #expect(await handle.result.isSuccess)
    #expect(await log.first(2) == ["block", "completed"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func callsItsCompletionBlockAlsoWhenItIsCancelledBeforeItsStart(
    _ mode: Dispatcher.Mode
  ) async {
    let log = log
    let store = dispatcher.addVisited { operation in
      operation.completionBlock = { log.record("completed") }
      operation.cancel()
      return nil
    }
    #expect(await dispatch(mode)["visited"].isCancelled == true)
    #expect(await log.first(1) == ["completed"])
    #expect(store.model.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func hasFinishedForOneThatDependsOnItInAUsersQueue(_ mode: Dispatcher.Mode) async {
    let (log, queue) = (log, OperationQueue.wide(1))
    let finished = Recorder<Bool>()
    let store = dispatcher.addVisited { operation in
      let after = BlockOperation {
        finished.record(operation.isFinished)
        log.record("after")
      }
      after.addDependency(operation)
      queue.addOperation(after)
      return nil
    }
    let token = store.observe(.model) { _ in log.record("reduced") }
    for round in 1...20 {
      #expect(await dispatch(mode).isSuccess)
      _ = await log.first(2 * round)
    }
    #expect(log.all == (0..<20).flatMap { _ in ["reduced", "after"] })
    #expect(finished.all == Array(repeating: true, count: 20))
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayRunInAUsersQueueAndBeADependencyOfWhatTheReducerReturns(
    _ mode: Dispatcher.Mode
  ) async {
    let (log, queue) = (log, OperationQueue.wide(1))
    let store = dispatcher.addVisited { operation in
      let returned = Operation(action: operation.action, store: operation.store) { _, store in
        log.record("returned after \(store.model)")
      }
      returned.addDependency(operation)
      queue.addOperation(operation)
      return returned
    }
    #expect(await dispatch(mode, value: 5).isSuccess)
    #expect(log.all == ["returned after [5]"])
    #expect(store.model == [5])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayAlternateWithOperationsThatTheReducerMade(_ mode: Dispatcher.Mode) async {
    let store = dispatcher.addVisited { visited in
      guard visited.action.value.isMultiple(of: 3) else { return nil }
      return Operation(action: visited.action, store: visited.store) { action, store in
        store.updateModel { $0.append(-action.value) }
      }
    }
    for value in 1...60 { #expect(await dispatch(mode, value: value).isSuccess) }
    #expect(store.model == (1...60).map { $0.isMultiple(of: 3) ? -$0 : $0 })
  }
}
