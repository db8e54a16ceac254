public import Foundation

/// Handles one action for one store: a true Foundation `Operation`.
///
/// A reducer returns one, and the dispatcher runs it. It may also be added to any `OperationQueue`,
/// depended on, observed, waited for and cancelled as any other operation; then the library calls no
/// middleware and no completion for it.
///
/// A queue or a dispatcher may run it, not both. An operation that was put into a queue and is then returned fails
/// with `invalidOperation`. If you add a returned one to a queue, or call `start()` on one in a queue, the program
/// stops with a message. On platforms other than Linux, Foundation raises an exception when it detects that.
///
/// Its block runs at most once. The operation ends when it was finished and its synchronous block has returned. There
/// is exactly one outcome: finished, failed or cancelled. After `cancel()` before the start the block never runs, and
/// the outcome is cancelled, even if the operation is finished in between. After the start, `cancel()` only sets
/// `isCancelled` and cancels the task of an `async` block. A block that runs in the task that has sent the action has
/// no task of its own: cancel that task, or look at `isCancelled`.
public final class ActionOperation<Model: Sendable, Action: ActionType>: Operation, OperationMaking,
  @unchecked Sendable
{
  // because `core` is locked, and Operation itself is thread-safe. All other state changes only while one thread owns
  // it: when it is made, started or kept as a spare one.
  /// Has an action while it is in use.
  @usableFromInline let actionAddress: UnsafeMutablePointer<Action>
  /// Nil while it is not in use.
  @usableFromInline @exclusivity(unchecked) var presentStore: Store<Model, Action>?
  /// Taken by the thread that starts the operation, so that its captures are released after the call.
  @usableFromInline @exclusivity(unchecked) var block: OperationBlock<Model, Action>?
  @usableFromInline let core = OperationCore()

  @usableFromInline
  override init() {
    actionAddress = .allocate(capacity: 1)
    super.init()
  }

  deinit {
    if core.hasDependencies { forgetDependencies() }
    if presentStore != nil { actionAddress.deinitialize(count: 1) }
    actionAddress.deallocate()
    core.destroy()
  }

  /// The action that it handles.
  public var action: Action { actionAddress.pointee }
  /// The store that it changes.
  public var store: Store<Model, Action> { presentStore.unsafelyUnwrapped }

  /// Makes one, or reuses this thread's spare one.
  @inlinable
  static func make(
    _ action: Action, _ store: Store<Model, Action>,
    _ block: consuming OperationBlock<Model, Action>, isOfLibrary: Bool = false
  ) -> ActionOperation {
    let operation =
      ThreadState.takeSpareOperation(store.operationType, for: store.storage).map {
        unsafeDowncast($0, to: ActionOperation.self)
      } ?? ActionOperation()
    operation.actionAddress.initialize(to: action)
    operation.presentStore = store
    operation.core.beginUse(isOfLibrary: isOfLibrary, isSuspending: block.isSuspending)
    operation.block = consume block
    return operation
  }

  /// Clears an ended operation, which becomes its thread's spare one.
  ///
  /// It has no other references.
  @inlinable
  func endUse() {
    actionAddress.deinitialize(count: 1)
    presentStore = nil
  }

  /// How it ended: finished, failed or cancelled; nil until then.
  public var outcome: StoreOutcome? {
    withState { $0.life.outcome }
  }

  /// Ends the operation as finished; before the start, it ends at the start, without its block.
  ///
  /// A second finish changes nothing, and is a warning.
  public func finish() {
    finish(.finished)
  }

  /// Ends the operation as failed, or as cancelled for a `CancellationError`.
  public func finish(throwing error: any Error) {
    finish(StoreOutcome(thrown: error))
  }

  // MARK: Operation

  /// True: it may end after `start()` has returned.
  public override var isAsynchronous: Bool { true }

  /// Whether its block was called and it has not ended.
  public override var isExecuting: Bool { withState { $0.life.isRunning } }

  /// Whether it has ended.
  public override var isFinished: Bool { withState { $0.life.outcome != nil } }

  /// Whether it was cancelled, by `cancel()` or through the handle of its dispatch.
  public override var isCancelled: Bool {
    let (isCancelled, dispatch) = withState { ($0.life.isCancelled, $0.dispatch) }
    return isCancelled || dispatch?.isCancelled == true
  }

  /// Makes it wait for another operation.
  ///
  /// Call it before your reducer returns the operation. A dispatch that already waits for others does not wait for one
  /// that you add. If the operation depends on itself, it never runs: its dispatch ends with `wouldDeadlock`.
  public override func addDependency(_ operation: Operation) {
    withState {
      $0.hasDependencies = true
      $0.isTouched = true
      if operation === self { $0.dependsOnItself = true }
    }
    // Foundation for Linux locks both operations, one after the other: the thread would wait for itself.
    if operation !== self { super.addDependency(operation) }
  }

  /// Makes it wait for another operation no longer.
  public override func removeDependency(_ operation: Operation) {
    if operation === self { withState { $0.dependsOnItself = false } }
    super.removeDependency(operation)
    stopWatching(operation)
  }

  /// Whether all that it depends on has finished; true for a cancelled one.
  public override var isReady: Bool {
    checkReadinessRead()
    return super.isReady && (!withState(\.dependsOnItself) || isCancelled)
  }

  /// Runs it on this thread; called by the queue that it was added to.
  ///
  /// - Precondition: All that it depends on has finished, or it was cancelled; it is in no queue, or its
  ///   queue calls this.
  public override func start() {
    checkStart()
    let unfinished = isCancelled ? [] : unfinishedDependencies
    if !unfinished.isEmpty {
      stopProgram(
        """
        The operation for \(action) in store "\(store.identifier)" can't be started yet: \
        \(unfinished.count) of the operations that it depends on have not finished. Add it to a \
        queue, which waits for them.
        """)
    }
    withState { $0.isTouched = true }
    let thread = ThreadState.current
    let outer = thread.fields.pointee.own
    thread.fields.pointee.own = (outer?.queue, self)
    defer { thread.fields.pointee.own = outer }
    run()
  }

  /// Cancels it: before the start it never runs; afterwards its block sees `isCancelled`.
  ///
  /// Cancels the task of an `async` block, but no task that has sent the action.
  public override func cancel() {
    yieldPoint(.cancelOperation, store.identifier)
    let (isFirst, task) = withState { state in
      state.isTouched = true
      return (state.life.cancel(), state.task)
    }
    guard isFirst else { return }
    yieldPoint(.cancelOperation, store.identifier)
    super.cancel()
    task?.cancel()
    stopWatchingAll()
  }

  /// Whether no property of Foundation's that stays with the object is set; otherwise the object is not reused.
  @usableFromInline
  var isPristine: Bool {
    completionBlock == nil && name == nil && queuePriority == .normal
      && qualityOfService == .default
  }
}
