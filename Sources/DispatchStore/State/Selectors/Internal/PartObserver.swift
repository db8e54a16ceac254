/// An observer of a selector, called when the value differs from that of its previous call.
///
/// In the exclusive section of a commit the roots are read, and enqueued if they have changed. The comparison and the
/// selectors combined from the roots run at the call, outside the section.
final class PartObserver<Model: Sendable, Action: ActionType, Value: Sendable>: ObserverRecord,
  @unchecked Sendable
{
  // because the store's lock guards `roots`
  /// The values of the roots at a commit, with its data.
  private struct Notice: Sendable {
    let roots: SelectorRoots
    let version: UInt64
    let action: Action?
    let dispatchID: DispatchID?
    /// Whether the observer is called even if the value is unchanged.
    let isInitial: Bool
  }

  private let node: TypedSelectorNode<Value>
  private let body: @Sendable (PartChange<Value, Action>) -> Void
  private let kept = Mailbox<Notice>()
  /// The last values of the roots.
  private var roots = SelectorRoots()
  /// The evaluation at the last call.
  ///
  /// Only one call at a time uses it. The lock is for Thread Sanitizer, which does not know the queues.
  private let last = Locked<SelectorEvaluation?>(nil)

  init(
    _ selector: StateSelector<Model, Value>, on queue: ObserverQueue?,
    of store: Store<Model, Action>.Type,
    _ body: @escaping @Sendable (PartChange<Value, Action>) -> Void
  ) {
    node = selector.node
    self.body = body
    super.init(on: queue)
  }

  override func begin(with model: UnsafeRawPointer, version: UInt64) {
    _ = roots.read(model, of: node, stamp: version)
    let evaluation = SelectorEvaluation(of: node, roots, after: nil, stamp: version)
    last.withLock { $0 = evaluation }
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    let hasChanged = roots.read(commit.model, of: node, stamp: commit.version)
    guard hasChanged || commit.isPresentModel else { return }
    let isDue = self.kept.put(
      Notice(
        roots: roots, version: commit.version,
        action: commit.action.assumingMemoryBound(to: Action?.self).pointee,
        dispatchID: commit.dispatchID, isInitial: commit.isPresentModel))
    if isDue, queue != nil { kept.schedule(self) }
  }

  /// Calls the observer with the notice of this commit, if one was kept.
  ///
  /// Notices and deliveries are both in commit order. A commit that has changed no root has no notice.
  override func notify(of change: ObservedChange) {
    yieldPoint(.callObserver)
    if let notice = kept.take(where: { $0.version <= change.version }) { call(notice) }
  }

  override func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let notice = kept.take() else { return false }
    call(notice)
    return true
  }

  private func call(_ notice: Notice) {
    guard mayCall, var old = last.withLock({ $0 }) else { return }
    let before = old.finish()
    var new = SelectorEvaluation(of: node, notice.roots, after: old, stamp: notice.version)
    let after = new.finish()
    // Released outside the lock, because releasing the program's values may run its code.
    let replaced = last.withLock { last in
      defer { last = new }
      return last
    }
    withExtendedLifetime(replaced) {}
    // `mayCall` is checked again, because the computation may have taken long.
    guard notice.isInitial || after.stamp != before.stamp, mayCall else { return }
    body(
      PartChange(
        old: notice.isInitial ? nil : node.value(of: before), value: node.value(of: after),
        version: notice.version, action: notice.action, dispatchID: notice.dispatchID))
  }
}
