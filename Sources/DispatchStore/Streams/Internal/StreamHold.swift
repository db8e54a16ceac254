/// What the producer of an element waits for, until the consumer is no longer too far behind.
enum StreamHold: Sendable {
  /// A dispatch, or a part of it: it does not end.
  case owner(any CommitOwner)
  /// A thread, which blocks.
  case thread(Gate<Void>)

  /// Has the producer of a commit wait, where it can; called under the store's lock.
  ///
  /// A thread that runs a task, or the main queue, may be what the consumer needs to run.
  static func begin(_ commit: CommitInProgress, _ kept: inout KeptCommit) -> StreamHold? {
    let thread = ThreadState.current
    guard DispatchContext.mayBlock(on: thread) else {
      guard let owner = commit.owner else { return nil }
      owner.commitDeferred()
      return .owner(owner)
    }
    if thread.isTaskThread || MainQueue.isCurrent { return nil }
    let gate = Gate<Void>()
    kept.wait(at: gate)
    return .thread(gate)
  }

  /// The producer goes on; called without a lock, on the consumer's thread.
  func end() {
    switch self {
    case .owner(let owner): ThreadState.current.resumeElsewhere(owner)
    case .thread(let gate): gate.open(())
    }
  }
}
