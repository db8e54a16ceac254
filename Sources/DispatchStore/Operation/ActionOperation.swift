public import Foundation

/// One store's answer to one action: a real `Operation`.
///
/// A reducer returns one, and the dispatcher runs it. It may also be put into an `OperationQueue` of
/// your own, depended on, observed, waited for and cancelled as any other operation; then no
/// middleware and no completion hears of it.
///
/// Its block runs at most once. It ends when it was finished and its synchronous block has returned,
/// in exactly one outcome: finished, failed or cancelled. `cancel()` before the start means that it
/// never runs; after the start it only sets `isCancelled`, and cancels the task of an `async` block.
public final class ActionOperation<Model: Sendable, Action: ActionType>: Operation,
  @unchecked Sendable
{
  // because `lock` guards what changes, and Operation itself is safe on several threads
  /// The action that it answers.
  public let action: Action
  /// The store that it changes.
  public let store: Store<Model, Action>
  private let lock = Lock()
  private var state: State

  private init(_ action: Action, _ store: Store<Model, Action>, _ block: Block) {
    self.action = action
    self.store = store
    state = State(block: block)
    super.init()
  }

  convenience init(reducing action: Action, in store: Store<Model, Action>) {
    self.init(action, store, .reducing)
  }

  /// Makes an operation that its block ends, now or from a callback, by `operation.finish()`.
  ///
  /// An error that the block throws ends it as failed. When everybody has let go of the block's
  /// `operation` without finishing it, it fails with `operationAbandoned`.
  public convenience init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @Sendable (
        _ operation: RunningOperation<Model, Action>, _ action: Action,
        _ store: Store<Model, Action>
      ) throws -> Void
  ) {
    self.init(action, store, .controlled(block))
  }

  /// Makes an operation that ends when its block returns or throws.
  public convenience init(
    action: Action, store: Store<Model, Action>,
    block: @escaping @Sendable (_ action: Action, _ store: Store<Model, Action>) throws -> Void
  ) {
    self.init(action, store, .returning(block))
  }

  /// Makes an operation whose block runs in a task, and that ends when it returns or throws.
  ///
  /// Cancelling the operation cancels the task. A dispatch with `.sync` runs the task's jobs on the
  /// caller's thread, one with `.mainThread` on the main queue.
  public convenience init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @Sendable (_ action: Action, _ store: Store<Model, Action>) async throws -> Void
  ) {
    self.init(action, store, .suspending(block))
  }

  /// Not available: an `async` block ends its operation by returning.
  @available(*, unavailable, message: "An async block takes (action, store): it ends by returning.")
  public convenience init(
    action: Action, store: Store<Model, Action>,
    block:
      @escaping @Sendable (
        _ operation: RunningOperation<Model, Action>, _ action: Action,
        _ store: Store<Model, Action>
      ) async throws -> Void
  ) {
    fatalError("unavailable")
  }

  @inline(__always)
  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&state)
  }

  deinit {
    if withState({ $0.hasDependencies }) { forgetDependencies() }
  }

  /// How it ended: finished, failed or cancelled; nil until then.
  public var outcome: StoreOutcome? {
    withState { $0.life.outcome }
  }

  /// Ends the operation as finished; before the start that takes effect at the start, without the block.
  ///
  /// A second finish is harmless, and is reported as an incident.
  public func finish() {
    finish(.finished)
  }

  /// Ends the operation as failed, or as cancelled for a `CancellationError`.
  public func finish(throwing error: any Error) {
    finish(StoreOutcome(thrown: error))
  }

  // MARK: Operation

  /// True: it ends when it was finished, not when `start()` returns.
  public override var isAsynchronous: Bool { true }

  /// Whether its block was called and it has not ended.
  public override var isExecuting: Bool { withState { $0.life.isRunning } }

  /// Whether it has ended.
  public override var isFinished: Bool { withState { $0.life.outcome != nil } }

  /// Makes it wait for another operation; before it starts.
  public override func addDependency(_ operation: Operation) {
    withState { $0.hasDependencies = true }
    super.addDependency(operation)
  }

  /// Makes it wait for another operation no longer.
  public override func removeDependency(_ operation: Operation) {
    super.removeDependency(operation)
    stopWatching(operation)
  }

  /// Runs it on this thread; called by the queue that it was given to.
  ///
  /// - Precondition: All that it depends on has finished, or it was cancelled.
  public override func start() {
    let unfinished = isCancelled ? [] : dependencies.filter { !$0.isFinished }
    precondition(
      unfinished.isEmpty,
      """
      The operation for \(action) in store "\(store.identifier)" can't be started yet: \
      \(unfinished.count) of the operations that it depends on have not finished. Add it to a queue, \
      which waits for them.
      """)
    run()
  }

  /// Cancels it: before the start it never runs; afterwards its block sees `isCancelled`.
  public override func cancel() {
    let (isNews, task) = withState { ($0.life.cancel(), $0.task) }
    guard isNews else { return }
    super.cancel()
    task?.cancel()
    stopWatchingAll()
  }
}
