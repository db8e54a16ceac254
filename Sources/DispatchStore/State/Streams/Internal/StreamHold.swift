/// A producer that waits until the consumer has caught up.
enum StreamHold: Sendable {
  /// A dispatch, or a part of one, that must not end yet.
  case owner(any CommitOwner)
  /// A blocked thread.
  case thread(Eventual<Void>)

  /// Makes the producer of a commit wait, if it can.
  ///
  /// Called under the store's lock.
  ///
  /// A thread that runs a task, and the main queue, never block: the consumer may need them.
  static func begin(_ commit: CommitInProgress, _ kept: inout KeptCommit) -> StreamHold? {
    let thread = ThreadState.current
    guard DispatchContext.mayBlock(on: thread) else {
      guard let owner = commit.owner else { return nil }
      owner.commitDeferred()
      return .owner(owner)
    }
    // Not `isTaskThread`: a job of an `async` block blocks the task, or the actor, that it runs for.
    if withUnsafeCurrentTask(body: { $0 != nil }) || MainQueue.isCurrent { return nil }
    let gate = Eventual<Void>()
    kept.wait(at: gate)
    return .thread(gate)
  }

  /// Lets the producer continue.
  ///
  /// Called on the consumer's thread, without a lock.
  func end() {
    switch self {
    case .owner(let owner): ThreadState.current.resumeElsewhere(owner)
    case .thread(let gate): gate.set(())
    }
  }
}
