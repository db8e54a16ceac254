/// An observer of a projection, computed at each commit.
final class ProjectionObserver<Model: Sendable, Action: ActionType, Value: Sendable>:
  ObserverRecord, @unchecked Sendable
{
  // because its superclass is
  private let projection: @Sendable (Model) -> Value
  private let body: @Sendable (StoreChange<Value, Action>) -> Void
  private let kept = Mailbox<StoreChange<Value, Action>>()

  init(
    _ projection: @escaping @Sendable (Model) -> Value, on queue: ObserverQueue?,
    of store: Store<Model, Action>.Type,
    _ body: @escaping @Sendable (StoreChange<Value, Action>) -> Void
  ) {
    self.projection = projection
    self.body = body
    super.init(on: queue)
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    let isDue = self.kept.put(
      StoreChange(
        model: projection(commit.model.assumingMemoryBound(to: Model.self).pointee),
        version: commit.version,
        action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
        dispatchID: commit.dispatchID))
    if isDue, queue != nil { kept.schedule(self) }
  }

  /// Calls the observer with the first kept change.
  ///
  /// Both follow commit order, so that is the change being delivered.
  override func notify(of change: ObservedChange) {
    _ = callWithNext()
  }

  override func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let change = kept.take() else { return false }
    if mayCall { body(change) }
    return true
  }
}
