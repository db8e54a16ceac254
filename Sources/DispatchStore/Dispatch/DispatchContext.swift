/// Inside which dispatch some code runs: the cause of what it dispatches, and what its waits hold up.
final class DispatchContext: Sendable {
  let dispatch: Dispatch
  let transaction: TransactionID
  /// The part whose block or observers run; nil in hooks and completions.
  let part: Part?
  /// The context that does not go on before this one has ended, on this thread or as its caller.
  let outer: DispatchContext?
  /// The executor of an `async` block: unstructured tasks leave it, and hold nothing up.
  let executor: UnownedTaskExecutor?
  /// Whether the caller of an `async` block waits for it on the main queue.
  let holdsUpMainQueue: Bool

  init(
    _ dispatch: Dispatch, transaction: TransactionID, part: Part?, outer: DispatchContext?,
    executor: UnownedTaskExecutor? = nil, holdsUpMainQueue: Bool = false
  ) {
    self.dispatch = dispatch
    self.transaction = transaction
    self.part = part
    self.outer = outer
    self.executor = executor
    self.holdsUpMainQueue = holdsUpMainQueue
  }

  /// The context of an `async` block, in its task and in all tasks made there.
  @TaskLocal static var inTask: DispatchContext?

  /// The context of what runs here, as a cause.
  static func current(on thread: ThreadState) -> DispatchContext? {
    thread.context ?? inTask
  }

  /// The context that is held up by a wait here.
  static func blocked(on thread: ThreadState) -> DispatchContext? {
    if let context = thread.context { return context }
    guard let context = inTask, let executor = context.executor else { return nil }
    let isStructured = withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor }
    return isStructured ? context : nil
  }
}
