/// Inside which dispatch some code runs: the cause of what it dispatches, and what its waits hold up.
///
/// A dispatch of one action is the context of its own code. Actions of a sequence, stores that run
/// beside each other and tasks have contexts of their own (`StoreRunContext`).
@usableFromInline
class DispatchContext: @unchecked Sendable {
  // because a subclass says why
  var dispatch: Dispatch { fatalError("DispatchContext is abstract.") }
  @usableFromInline
  var transaction: TransactionID { fatalError("DispatchContext is abstract.") }
  /// The part whose block or observers run; nil in hooks and completions.
  var owner: (any CommitOwner)? { fatalError("DispatchContext is abstract.") }
  /// The context that does not go on before this one has ended, on this thread or as its caller.
  var outer: DispatchContext? { fatalError("DispatchContext is abstract.") }
  /// The executor of an `async` block: unstructured tasks leave it, and hold nothing up.
  var executor: UnownedTaskExecutor? { nil }
  /// Whether the caller of an `async` block waits for it on the main queue.
  var holdsUpMainQueue: Bool { false }

  /// The context of an `async` block, in its task and in all tasks made there.
  @TaskLocal static var inTask: DispatchContext?

  /// The context of what runs here, as a cause.
  static func current(on thread: ThreadState) -> DispatchContext? {
    if !isPlanted(.noRecord) { thread.light.run?.pointee.makeRecord(on: thread) }
    return thread.context ?? inTask
  }

  /// On whose behalf code that runs here changes stores.
  @usableFromInline
  static func owner(on thread: ThreadState) -> (any CommitOwner)? {
    current(on: thread)?.owner
  }

  /// The transaction that causes what is dispatched here; `UInt64.max` for none.
  @inline(__always)
  static func currentTransaction(on thread: ThreadState) -> UInt64 {
    if thread.light.transaction != UInt64.max { return thread.light.transaction }
    if let context = thread.context { return context.transaction.rawValue }
    return inTask?.transaction.rawValue ?? UInt64.max
  }

  /// The context that is held up by a wait here.
  static func blocked(on thread: ThreadState) -> DispatchContext? {
    thread.light.run?.pointee.makeRecord(on: thread)
    if let context = thread.context { return context }
    guard let context = inTask, let executor = context.executor else { return nil }
    let isStructured = withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor }
    return isStructured ? context : nil
  }
}

/// The context of one action's hooks, of one store's part in it, or of a task.
final class StoreRunContext: DispatchContext, @unchecked Sendable {
  // because all of its properties are constants
  private let ofDispatch: Dispatch
  private let ofTransaction: TransactionID
  private let ofOwner: (any CommitOwner)?
  private let around: DispatchContext?
  private let ofExecutor: UnownedTaskExecutor?
  private let isOnMainQueue: Bool

  init(
    _ dispatch: Dispatch, transaction: TransactionID, owner: (any CommitOwner)?,
    outer: DispatchContext?, executor: UnownedTaskExecutor? = nil, holdsUpMainQueue: Bool = false
  ) {
    ofDispatch = dispatch
    ofTransaction = transaction
    ofOwner = owner
    around = outer
    ofExecutor = executor
    isOnMainQueue = holdsUpMainQueue
  }

  override var dispatch: Dispatch { ofDispatch }
  override var transaction: TransactionID { ofTransaction }
  override var owner: (any CommitOwner)? { ofOwner }
  override var outer: DispatchContext? { around }
  override var executor: UnownedTaskExecutor? { ofExecutor }
  override var holdsUpMainQueue: Bool { isOnMainQueue }
}
