/// The dispatch or store run on whose behalf code changes a store.
///
/// Call `end` after the commit.
@usableFromInline
struct CommitContext {
  /// Nil for an inline run, and for code outside of dispatches, in hooks or in completions.
  private var commitOwner: (any CommitOwner)?
  /// The inline run of the store, whose record is made only if another thread is to deliver the commit.
  private var run: InlineRun.Address?
  /// Whether the owner is a store run whose task commits, or a task made there: it ends only after the commit.
  private var isOfTask = false

  @usableFromInline
  static func owner(_ owner: any CommitOwner) -> CommitContext { CommitContext(commitOwner: owner) }

  /// Returns the context of code that runs on this thread and names no owner.
  ///
  /// A block on this thread can't end during the commit. A block whose task commits could, and so could one whose
  /// task made the committing task. Their end therefore waits for the commit.
  @usableFromInline
  static func current(on thread: ThreadState) -> CommitContext {
    if let run = thread.run { return CommitContext(run: run.pointee.isInStore ? run : nil) }
    if let context = thread.context, !context.isOfBlock {
      return CommitContext(commitOwner: context.commitOwner)
    }
    guard let storeRun = DispatchContext.inTask?.owner, storeRun.beginTaskCommit() else {
      return CommitContext()
    }
    thread.fields.pointee.taskCommits.append(storeRun)
    return CommitContext(commitOwner: storeRun, isOfTask: true)
  }

  /// The dispatch that observers get with the change.
  @usableFromInline
  var dispatchID: DispatchID? { run?.pointee.dispatchID ?? commitOwner?.dispatchID }

  /// The action for commits to a store; nil if the action belongs to another store.
  @usableFromInline
  func action<Model, Action>(in store: Store<Model, Action>, on thread: ThreadState) -> Action? {
    if let run { return run.pointee.action(in: store) }
    guard let commitOwner else { return thread.ownAction(in: store) }
    return commitOwner.action(in: store)
  }

  /// The dispatch or store run that ends after the delivery; called outside of the store's lock.
  @usableFromInline
  func makeOwner(on thread: ThreadState) -> (any CommitOwner)? {
    run?.pointee.owner(on: thread) ?? commitOwner
  }

  /// Ends the commit, which has been delivered or left to a notifier.
  @usableFromInline
  func end(on thread: ThreadState) {
    guard isOfTask else { return }
    // Nil if the thread has blocked meanwhile.
    if let storeRun = thread.fields.pointee.taskCommits.removeLast() { storeRun.endTaskCommit() }
  }
}
