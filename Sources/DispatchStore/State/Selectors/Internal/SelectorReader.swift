/// Reads a combined selector's value for one subscription.
///
/// In the exclusive section of a commit the roots are read, and kept if they have changed. The comparison and the
/// selectors combined from the roots run where the change is delivered, outside the section.
final class SelectorReader<Value: Sendable>: @unchecked Sendable {
  // because `last` has a lock, and `storage` is set once
  private let node: TypedSelectorNode<Value>
  private weak let storage: StoreStorage?
  /// The evaluation for the last change, and the roots that were read for it.
  ///
  /// The evaluation is the store's, shared by all who select, or this reader's own. If the roots were not kept, the
  /// next commit could release their last reference in its exclusive section.
  // Only one call at a time uses it. The lock is for Thread Sanitizer, which does not know the queues.
  private let last = Locked<(evaluation: SelectorEvaluation, roots: SelectorRoots)?>(nil)

  /// - Parameter storage: The store whose evaluations are shared; nil to compute all values here.
  init(_ node: TypedSelectorNode<Value>, sharing storage: StoreStorage?) {
    self.node = node
    // Only values that can be compared can come from elsewhere.
    self.storage = node.equality.areEqual == nil ? nil : storage
  }

  func begin(_ model: UnsafeRawPointer, _ version: UInt64) -> KeptValue {
    var roots = SelectorRoots()
    let stamp = Self.stamp(version)
    _ = roots.read(model, of: node, stamp: stamp)
    let evaluation = SelectorEvaluation(of: node, roots, after: nil, stamp: stamp)
    last.withLock { $0 = (evaluation, roots) }
    return TypedValue(roots)
  }

  func read(_ commit: CommitInProgress, _ last: KeptValue?) -> KeptValue? {
    var roots = last.map { TypedValue<SelectorRoots>.of($0) } ?? SelectorRoots()
    let hasChanged = roots.read(commit.model, of: node, stamp: Self.stamp(commit.version))
    return hasChanged ? TypedValue(roots) : nil
  }

  func receive(_ note: KeptNote) -> ChangeContent<Value>? {
    guard var old = last.withLock({ $0 })?.evaluation else { return nil }
    let roots = TypedValue<SelectorRoots>.of(note.value)
    if var shared = storage?.evaluation(of: node, roots, at: note.version) {
      let new = shared.finish()
      set(shared, roots)
      if note.isInitial { return .now(node.value(of: new)) }
      let oldSelection = old.finish()
      // The store may have compared the value with another one.
      let settled = node.settle(new, last: oldSelection)
      return node.content(from: oldSelection, to: settled, isInitial: false)
    }
    let oldSelection = old.finish()
    var new = SelectorEvaluation(of: node, roots, after: old, stamp: Self.stamp(note.version))
    let newSelection = new.finish()
    set(new, roots)
    return node.content(from: oldSelection, to: newSelection, isInitial: note.isInitial)
  }

  /// The stamp of what is computed here for a version; the store's own stamps are smaller.
  private static func stamp(_ version: UInt64) -> UInt64 { version | 1 << 63 }

  private func set(_ new: SelectorEvaluation, _ roots: SelectorRoots) {
    // Released outside the lock, because releasing the program's values may run its code.
    withExtendedLifetime(last.exchange((new, roots))) {}
  }
}
