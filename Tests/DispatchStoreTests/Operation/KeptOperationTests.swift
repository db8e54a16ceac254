import DispatchStore
import Foundation
import Testing

/// Appends its value, by the operation that `super` returns.
struct Append: ActionType, Equatable {
  var value = 0
}

/// Passes what `super` returned to a closure, which may return another operation instead.
final class VisitedReducer: Reducer<[Int], Append> {
  typealias Operation = ActionOperation<[Int], Append>
  typealias Visit = @Sendable (Operation) -> Operation?

  private let visit: Visit

  init(_ visit: @escaping Visit) {
    self.visit = visit
  }

  override func operation(for action: Append, in store: Store<[Int], Append>) -> Operation {
    let operation = super.operation(for: action, in: store)
    return visit(operation) ?? operation
  }

  override func reduce(into model: inout [Int], action: Append) {
    model.append(action.value)
  }
}

extension Dispatcher {
  /// Registers a store that passes what `super` returned to `visit`.
  func addVisited(_ visit: @escaping VisitedReducer.Visit) -> Store<[Int], Append> {
    register(store: Store(identifier: "visited", model: [], reducer: VisitedReducer(visit)))
  }
}

/// Operations that the program keeps after their dispatch has ended.
@Suite("A kept operation", .timeLimit(.minutes(10)))
struct KeptOperationTests {
  typealias Operation = VisitedReducer.Operation

  private final class Weak: @unchecked Sendable {  // because nothing changes but by release
    weak let operation: Operation?
    let value: Int

    init(_ operation: Operation) {
      self.operation = operation
      value = operation.action.value
    }

    /// Whether it is gone, or has kept its action and is not `other`.
    func isUntouched(by other: Operation) -> Bool {
      guard let operation else { return true }
      return operation !== other && operation.action.value == value
    }
  }

  let dispatcher = Dispatcher()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatEndedBeforeItsStartIsNotReusedByALaterDispatch(_ mode: Dispatcher.Mode) async {
    let kept = Recorder<Operation>()
    _ = dispatcher.addVisited { operation in
      if operation.action.value == 0 { operation.cancel() }
      if operation.action.value == 1 { operation.finish() }
      kept.record(operation)
      return nil
    }
    for value in 0..<20 {
      _ = await dispatcher.dispatch(action: Append(value: value), mode: mode).result
    }
    #expect(kept.all.map(\.isCancelled) == [true] + Array(repeating: false, count: 19))
    #expect(kept.all[1].isFinished)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isNeverReusedByALaterDispatch(_ mode: Dispatcher.Mode) async {
    let kept = Recorder<Operation>()
    let store = dispatcher.addVisited { operation in
      kept.record(operation)
      return nil
    }
    for value in 0..<100 {
      #expect(await dispatcher.dispatch(action: Append(value: value), mode: mode).result.isSuccess)
      let operation = kept.all[value]
      #expect(operation.isFinished && operation.outcome?.isFinished == true)
    }
    #expect(Set(kept.all.map(ObjectIdentifier.init)).count == 100)
    #expect(kept.all.map(\.action.value) == Array(0..<100))
    #expect(kept.all.allSatisfy { $0.store === store && $0.isFinished && !$0.isExecuting })
    #expect(store.model == Array(0..<100))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatIsHeldWeaklyIsNeverReusedByALaterDispatchEither(_ mode: Dispatcher.Mode) async {
    let (kept, touched) = (Recorder<Weak>(), Recorder<Int>())
    let store = dispatcher.addVisited { operation in
      for weak in kept.all.suffix(10) where !weak.isUntouched(by: operation) {
        touched.record(weak.value)
      }
      kept.record(Weak(operation))
      return nil
    }
    for value in 0..<100 {
      #expect(await dispatcher.dispatch(action: Append(value: value), mode: mode).result.isSuccess)
    }
    #expect(touched.all.isEmpty)
    #expect(kept.all.map(\.value) == Array(0..<100))
    #expect(store.model == Array(0..<100))
  }

  /// One that is not kept begins at once, in the step that has called the reducer.
  @Test(arguments: Way.all, [false, true])
  func neverRunsIfItsDispatchIsCancelledWhileTheReducerIsCalled(_ way: Way, isKept: Bool) async {
    let (dispatcher, kept) = (dispatcher, Recorder<Operation>())
    let store = dispatcher.addVisited { operation in
      dispatcher.cancel(named: "cancelled")
      if isKept { kept.record(operation) }
      return nil
    }
    let result = await dispatcher.run(Append(value: 1), way, options: .named("cancelled"))
    if !isKept {
      #expect(result.isSuccess && store.model == [1])
    } else if case .cancelled(hasStarted: false) = result["visited"] {
      #expect(store.model.isEmpty && kept.all.map(\.isCancelled) == [true])
    } else {
      Issue.record("\(result)")
    }
  }

  /// At all times of its life: Thread Sanitizer would report an access without the lock.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatIsHeldWeaklyMayBeCancelledByAnotherThread(_ mode: Dispatcher.Mode) async {
    let (kept, hasEnded) = (Recorder<Weak>(), Latch())
    let store = dispatcher.addVisited { operation in
      kept.record(Weak(operation))
      return nil
    }
    async let cancelling: Void = onOwnThread {
      while !hasEnded.isOpen { kept.all.last?.operation?.cancel() }
    }
    var finished: [Int] = []
    for value in 0..<100 {
      let result = await dispatcher.dispatch(action: Append(value: value), mode: mode).result
      #expect(result.isSuccess || result["visited"].isCancelled)
      if result.isSuccess { finished.append(value) }
    }
    hasEnded.open()
    await cancelling
    #expect(store.model == finished)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isNeverReusedByALaterActionOfItsSequence(_ mode: Dispatcher.Mode) async {
    let kept = Recorder<Operation>()
    let store = dispatcher.addVisited { operation in
      if operation.action.value.isMultiple(of: 2) { kept.record(operation) }
      return nil
    }
    let actions = (0..<100).map { Append(value: $0) }
    #expect(await dispatcher.dispatch(actions: actions, mode: mode).result.isSuccess)
    #expect(Set(kept.all.map(ObjectIdentifier.init)).count == 50)
    #expect(kept.all.map(\.action.value) == Array(stride(from: 0, to: 100, by: 2)))
    #expect(store.model == Array(0..<100))
  }

  /// Every seventh operation is kept, from several threads.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func isNotReusedAmongManyThatAreNotKept(_ mode: Dispatcher.Mode) async {
    let (kept, ends) = (Recorder<Operation>(), EventCount(of: 800))
    let store = dispatcher.addVisited { operation in
      if operation.action.value.isMultiple(of: 7) { kept.record(operation) }
      return nil
    }
    await onOwnThreads(4) { [dispatcher] thread in
      for index in 0..<200 {
        let action = Append(value: thread * 200 + index)
        dispatcher.dispatch(action: action, mode: mode) { ends.add() }
      }
    }
    await ends.full()
    let values = kept.all.map(\.action.value)
    #expect(Set(kept.all.map(ObjectIdentifier.init)).count == values.count)
    #expect(values.sorted() == Array(stride(from: 0, to: 800, by: 7)))
    #expect(store.model.sorted() == Array(0..<800))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatABlockSawIsTheOneThatTheReducerMade(_ mode: Dispatcher.Mode) async {
    let (made, seen) = (Recorder<Operation>(), Recorder<RunningOperation<[Int], Append>>())
    _ = dispatcher.addVisited { visited in
      let operation = Operation(action: visited.action, store: visited.store) { running, _, _ in
        seen.record(running)
        running.finish()
      }
      made.record(operation)
      return operation
    }
    for value in 0..<20 {
      _ = await dispatcher.dispatch(action: Append(value: value), mode: mode).result
    }
    #expect(made.all == seen.all.map(\.operation))
    #expect(seen.all.map(\.operation.action.value) == Array(0..<20))
  }

  /// Until its block runs, the program has but a weak reference to it.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func mayBeDependedOnInItsBlockByAWeakReference(_ mode: Dispatcher.Mode) async {
    let (made, log) = (WeakReference(), Recorder<String>())
    let reducer = ClosureReducer<[Int], Append> { action, store in
      let operation = ActionOperation(action: action, store: store) { _, _ in
        await Task.yield()
        let after = BlockOperation { log.record("after") }
        if let operation = made.operation { after.addDependency(operation) }
        OperationQueue.wide(1).add(after)
        log.record("block")
      }
      made.operation = operation
      return operation
    }
    dispatcher.register(store: Store(identifier: "weak", model: [], reducer: reducer))
    _ = await dispatcher.dispatch(action: Append(), mode: mode).result
    #expect(await log.first(2) == ["block", "after"])
  }

  private final class WeakReference: @unchecked Sendable {
    // because it is set before the operation's block runs
    weak var operation: Operation?
  }
}
