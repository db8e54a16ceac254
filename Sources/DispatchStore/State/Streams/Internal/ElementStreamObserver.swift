/// The observer of one subscription to an element.
///
/// The collection's hub keeps it alive, and the store keeps the hub alive.
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
    // Compare the next change with the element that the consumer will get, not with this dropped one.
    if !push.isKept {
      last = unsafeDowncast(change, to: TypedElementChange<Value, Action>.self).change.old
    }
    return push.isDue
  }

  /// Resumes the consumer from this thread.
  ///
  /// Its task continues on its own executor.
  override func scheduleCall() {
    yieldPoint(.wakeConsumer)
    storage.wake()
  }
}
