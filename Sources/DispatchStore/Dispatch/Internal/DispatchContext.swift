/// Inside which dispatch some code runs: the cause of what it dispatches, and what its waits hold up.
///
/// A dispatch is the context of the code of its inline run (`InlineRun`). Store runs of a round, which may
/// run at the same time, and tasks have contexts of their own (`StoreRunContext`).
@usableFromInline
class DispatchContext: @unchecked Sendable {
  // because a subclass says why
  var dispatch: Dispatch { fatalError("DispatchContext is abstract.") }
  /// The store run whose block or observers run; nil in hooks and completions.
  var owner: StoreRun? { fatalError("DispatchContext is abstract.") }
  /// The context that does not go on before this one has ended, on this thread or as its caller.
  var outer: DispatchContext? { fatalError("DispatchContext is abstract.") }
  /// The executor of an `async` block: unstructured tasks leave it, and hold nothing up.
  var executor: UnownedTaskExecutor? { nil }
  /// Whether the caller of an `async` block waits for it on the main queue.
  var holdsUpMainQueue: Bool { false }

  /// The context of an `async` block, in its task and in all tasks made there.
  @TaskLocal static var inTask: DispatchContext?

  /// Begins a commit of code that runs here; `endCommit` follows.
  ///
  /// A block that runs on this thread can't end meanwhile; one whose task commits, or made the task that does,
  /// could, so its end waits for that.
  @usableFromInline
  static func beginCommit(on thread: ThreadState) -> CommitContext {
    if let run = thread.run { return CommitContext(owner: run.pointee.owner(on: thread)) }
    if let context = thread.context { return CommitContext(owner: context.owner) }
    guard let storeRun = inTask?.owner, storeRun.beginTaskCommit() else {
      return CommitContext(owner: nil)
    }
    thread.taskCommits.append(storeRun)
    return CommitContext(owner: storeRun, isOfTask: true)
  }

  /// Whether code that runs here may block its thread for a delivery turn.
  ///
  /// Outside of dispatches, and in `.sync` ones: there a caller waits anyway.
  static func mayBlock(on thread: ThreadState) -> Bool {
    if let run = thread.run { return !run.pointee.isScheduled }
    return (thread.context ?? inTask)?.dispatch.isSynchronous ?? true
  }

  /// The transaction that causes what is dispatched here.
  static func currentTransaction(on thread: ThreadState) -> TransactionID? {
    transaction(of: thread.run, on: thread)
  }

  /// The same for an innermost run.
  static func transaction(
    of run: InlineRun.Address?, on thread: ThreadState
  ) -> TransactionID? {
    if let run { return run.pointee.transaction }
    return (thread.context ?? inTask)?.dispatch.id
  }

  /// The context that is held up by a wait here.
  static func blocked(on thread: ThreadState) -> DispatchContext? {
    if let run = thread.run { return run.pointee.makeRecord(on: thread) }
    return thread.context ?? structuredTask
  }

  /// The context that a `.sync` dispatch of this thread holds up.
  ///
  /// - Parameters:
  ///   - parent: Its cause; without one, there is nothing to look for.
  ///   - run: The innermost inline run around it.
  static func around(
    _ parent: TransactionID?, _ run: InlineRun.Address?, on thread: ThreadState
  ) -> DispatchContext? {
    parent == nil ? nil : InlineRun.recorded(run, on: thread) ?? structuredTask
  }

  /// The context of the `async` block whose own task runs here, or a child of that.
  private static var structuredTask: DispatchContext? {
    guard let context = inTask, let executor = context.executor else { return nil }
    let isStructured = withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor }
    return isStructured ? context : nil
  }
}

/// On whose behalf code changes a store that names no owner.
@usableFromInline
struct CommitContext {
  @usableFromInline let owner: (any CommitOwner)?
  /// Whether the owner's end waits for `end`.
  private let isOfTask: Bool

  init(owner: (any CommitOwner)?, isOfTask: Bool = false) {
    self.owner = owner
    self.isOfTask = isOfTask
  }

  /// The commit has been delivered, or left to a notifier.
  @usableFromInline
  func end(on thread: ThreadState) {
    if isOfTask, let storeRun = thread.taskCommits.removeLast() { storeRun.endTaskCommit() }
  }
}

/// The context of a store run's code in a round, of a round's hooks and completion, or of a task.
final class StoreRunContext: DispatchContext, @unchecked Sendable {
  // because all of its properties are constants
  private let ofDispatch: Dispatch
  private let ofOwner: StoreRun?
  private let around: DispatchContext?
  private let ofExecutor: UnownedTaskExecutor?
  private let isOnMainQueue: Bool

  init(
    _ dispatch: Dispatch, owner: StoreRun?, outer: DispatchContext?,
    executor: UnownedTaskExecutor? = nil, holdsUpMainQueue: Bool = false
  ) {
    ofDispatch = dispatch
    ofOwner = owner
    around = outer
    ofExecutor = executor
    isOnMainQueue = holdsUpMainQueue
  }

  override var dispatch: Dispatch { ofDispatch }
  override var owner: StoreRun? { ofOwner }
  override var outer: DispatchContext? { around }
  override var executor: UnownedTaskExecutor? { ofExecutor }
  override var holdsUpMainQueue: Bool { isOnMainQueue }
}
