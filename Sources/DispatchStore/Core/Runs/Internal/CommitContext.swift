/// The dispatch or store run on whose behalf code changes a store.
///
/// Call `end` after the commit.
@usableFromInline
struct CommitContext {
  private enum Kind {
    /// Code outside of dispatches, in hooks or in completions.
    case none
    case owner(any CommitOwner)
    /// An inline run's store. Its record is made only if another thread is to deliver the commit.
    case run(InlineRun.Address)
    /// A task of a store run, or a task made there: the store run ends only after the commit.
    case task(StoreRun)
  }

  private let kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  @usableFromInline
  static func owner(_ owner: any CommitOwner) -> CommitContext { CommitContext(.owner(owner)) }

  /// Returns the context of code that runs on this thread and names no owner.
  ///
  /// A block on this thread can't end during the commit. A block whose task commits could, and so could one whose
  /// task made the committing task. Their end therefore waits for the commit.
  @usableFromInline
  static func current(on thread: ThreadState) -> CommitContext {
    if let run = thread.run { return CommitContext(run.pointee.isInStore ? .run(run) : .none) }
    if let context = thread.context, !context.isOfBlock {
      return CommitContext(context.commitOwner.map { .owner($0) } ?? .none)
    }
    guard let storeRun = DispatchContext.inTask?.owner, storeRun.beginTaskCommit() else {
      return CommitContext(.none)
    }
    thread.fields.pointee.taskCommits.append(storeRun)
    return CommitContext(.task(storeRun))
  }

  /// The dispatch that observers get with the change.
  @usableFromInline
  var dispatchID: DispatchID? {
    switch kind {
    case .none: nil
    case .owner(let owner): owner.dispatchID
    case .run(let run): run.pointee.dispatchID
    case .task(let storeRun): storeRun.dispatchID
    }
  }

  /// The action for commits to a store; nil if the action belongs to another store.
  @usableFromInline
  func action<Model, Action>(in store: Store<Model, Action>, on thread: ThreadState) -> Action? {
    switch kind {
    case .none: thread.ownAction(in: store)
    case .owner(let owner): owner.action(in: store)
    case .run(let run): run.pointee.action(in: store)
    case .task(let storeRun): storeRun.action(in: store)
    }
  }

  /// The dispatch or store run that ends after the delivery; called outside of the store's lock.
  @usableFromInline
  func makeOwner(on thread: ThreadState) -> (any CommitOwner)? {
    switch kind {
    case .none: nil
    case .owner(let owner): owner
    case .run(let run): run.pointee.owner(on: thread)
    case .task(let storeRun): storeRun
    }
  }

  /// Ends the commit, which has been delivered or left to a notifier.
  @usableFromInline
  func end(on thread: ThreadState) {
    guard case .task = kind else { return }
    // Nil if the thread has blocked meanwhile.
    if let storeRun = thread.fields.pointee.taskCommits.removeLast() { storeRun.endTaskCommit() }
  }
}
