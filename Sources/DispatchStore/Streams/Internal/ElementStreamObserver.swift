/// The observer of one subscription to an element: the hub of its collection keeps it, and the store that hub.
final class ElementStreamObserver<Value: Sendable, Action: ActionType>: TypedElementObserver<Value>,
  @unchecked Sendable
{
  // because its superclass is
  private let storage: StreamStorage

  init(_ storage: StreamStorage) {
    self.storage = storage
    super.init()
  }

  deinit {
    storage.end()
  }

  override func keep(
    _ change: KeptElementChange, of commit: CommitInProgress?, _ due: inout KeptCommit
  ) -> Bool {
    let push = storage.push(change) { commit.flatMap { StreamHold.begin($0, &due) } }
    // The next change is compared with what the consumer gets.
    if !push.isKept {
      last = unsafeDowncast(change, to: TypedElementChange<Value, Action>.self).change.old
    }
    return push.isDue
  }

  /// Resumes the consumer on this thread: its task goes on elsewhere.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
