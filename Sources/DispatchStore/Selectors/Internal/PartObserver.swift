/// An observer of a selector: called where the value differs from the one that it was called with before.
///
/// In the exclusive section of a commit the roots are read, and kept where they have changed. Everything else
/// follows at the call, outside of it: `==`, and the selectors that are combined from the roots.
final class PartObserver<Model: Sendable, Action: ActionType, Value: Sendable>: ObserverRecord,
  @unchecked Sendable
{
  // because the store's lock guards `roots`
  /// What the roots read at one commit, and that commit.
  private struct Notice: Sendable {
    let roots: SelectorRoots
    let version: UInt64
    let action: Action?
    let transaction: TransactionID?
    /// Whether the observer is called in any case.
    let isInitial: Bool
  }

  private let node: TypedSelectorNode<Value>
  private let body: @Sendable (PartChange<Value, Action>) -> Void
  private let kept = Mailbox<Notice>()
  /// What the roots read last.
  private var roots = SelectorRoots()
  /// What the observer was called with last; used by one call at a time, in a lock because queues are unknown to
  /// Thread Sanitizer.
  private let last = Locked<SelectorEvaluation?>(nil)

  init(
    _ selector: Selector<Model, Value>, on queue: ObserverQueue?,
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
        transaction: commit.transaction, isInitial: commit.isPresentModel))
    if isDue, queue != nil { kept.schedule(self) }
  }

  /// Notices are kept, and the notifier's deliveries made, in commit order: the first one kept is of this change,
  /// unless that has changed none of the roots.
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
    // Released outside the lock, because what the program keeps in values may run code then.
    let replaced = last.withLock { last in
      defer { last = new }
      return last
    }
    withExtendedLifetime(replaced) {}
    // Once more, because what was computed meanwhile may take long.
    guard notice.isInitial || after.stamp != before.stamp, mayCall else { return }
    body(
      PartChange(
        old: notice.isInitial ? nil : node.value(of: before), value: node.value(of: after),
        version: notice.version, action: notice.action, transaction: notice.transaction))
  }
}
