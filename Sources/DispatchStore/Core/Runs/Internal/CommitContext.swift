/// On whose behalf code changes a store; `end` follows the commit.
@usableFromInline
struct CommitContext {
  private enum Kind {
    /// Of code outside of dispatches, in hooks or in completions.
    case none
    case owner(any CommitOwner)
    /// An inline run's store, whose record is made where another thread is to deliver the commit.
    case run(InlineRun.Address)
    /// A store run's task, or one made there: the store run's end waits for the commit's.
    case task(StoreRun)
  }

  private let kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  @usableFromInline
  static func owner(_ owner: any CommitOwner) -> CommitContext { CommitContext(.owner(owner)) }

  /// Of code that runs on this thread and names no owner.
  ///
  /// A block that runs on this thread can't end meanwhile; one whose task commits, or made the task that does,
  /// could, so its end waits for that.
  @usableFromInline
  static func current(on thread: ThreadState) -> CommitContext {
    if let run = thread.run { return CommitContext(run.pointee.isInStore ? .run(run) : .none) }
    if let context = thread.context, !context.isOfBlock {
      return CommitContext(context.owner.map { .owner($0) } ?? .none)
    }
    guard let storeRun = DispatchContext.inTask?.owner, storeRun.beginTaskCommit() else {
      return CommitContext(.none)
    }
    thread.taskCommits.append(storeRun)
    return CommitContext(.task(storeRun))
  }

  /// The transaction that observers get with the change.
  @usableFromInline
  var transaction: TransactionID? {
    switch kind {
    case .none: nil
    case .owner(let owner): owner.transaction
    case .run(let run): run.pointee.transaction
    case .task(let storeRun): storeRun.transaction
    }
  }

  /// The action for commits to a store; nil where it is another one's.
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

  /// The commit has been delivered, or left to a notifier.
  @usableFromInline
  func end(on thread: ThreadState) {
    guard case .task = kind else { return }
    // Nil where the thread has blocked meanwhile.
    if let storeRun = thread.taskCommits.removeLast() { storeRun.endTaskCommit() }
  }
}
