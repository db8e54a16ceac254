/// Reads a combined selector's value for one subscription.
///
/// In the exclusive section of a commit the roots are read, and kept if they have changed. The comparison and the
/// selectors combined from the roots run where the change is delivered, outside the section.
final class SelectorReader<Value: Sendable>: @unchecked Sendable {
  // because `last` has a lock, and `storage` is set once
  /// The value of the last change.
  private enum Last {
    /// With the values of all inputs, so that only what has changed is computed again.
    case evaluated(SelectorEvaluation)
    /// Computed by the store, for all who select.
    case shared(Value)
  }

  private let node: TypedSelectorNode<Value>
  private weak let storage: StoreStorage?
  // Only one call at a time uses it. The lock is for Thread Sanitizer, which does not know the queues.
  private let last = Locked<Last?>(nil)

  /// - Parameter storage: The store whose computed values are shared; nil to compute all values here.
  init(_ node: TypedSelectorNode<Value>, sharing storage: StoreStorage?) {
    self.node = node
    // Only values that can be compared can come from elsewhere.
    self.storage = node.equality.areEqual == nil ? nil : storage
  }

  func begin(_ model: UnsafeRawPointer, _ version: UInt64) -> KeptValue {
    var roots = SelectorRoots()
    _ = roots.read(model, of: node, stamp: version)
    let evaluation = SelectorEvaluation(of: node, roots, after: nil, stamp: version)
    last.withLock { $0 = .evaluated(evaluation) }
    return TypedValue(roots)
  }

  func read(_ commit: CommitInProgress, _ last: KeptValue?) -> KeptValue? {
    var roots = last.map { TypedValue<SelectorRoots>.of($0) } ?? SelectorRoots()
    let hasChanged = roots.read(commit.model, of: node, stamp: commit.version)
    return hasChanged ? TypedValue(roots) : nil
  }

  func receive(_ note: KeptNote) -> ChangeContent<Value>? {
    guard let before = last.withLock({ $0 }) else { return nil }
    if let shared = storage?.selection(of: node, at: note.version) {
      return replace(before, by: .shared(node.value(of: shared)), isInitial: note.isInitial)
    }
    let roots = TypedValue<SelectorRoots>.of(note.value)
    guard case .evaluated(var old) = before else {
      let new = SelectorEvaluation(of: node, roots, after: nil, stamp: note.version)
      return replace(before, by: .evaluated(new), isInitial: note.isInitial)
    }
    let oldSelection = old.finish()
    var new = SelectorEvaluation(of: node, roots, after: old, stamp: note.version)
    let newSelection = new.finish()
    set(.evaluated(new))
    return node.content(from: oldSelection, to: newSelection, isInitial: note.isInitial)
  }

  /// Replaces a value by one that is compared with it.
  private func replace(_ old: Last, by new: Last, isInitial: Bool) -> ChangeContent<Value>? {
    let (newValue, last) = evaluate(new)
    set(last)
    if isInitial { return .now(newValue) }
    let oldValue = evaluate(old).value
    if !node.equality.differ(oldValue, newValue) { return nil }
    return .replaced(ReplacedValue(old: oldValue, by: newValue))
  }

  private func evaluate(_ last: Last) -> (value: Value, last: Last) {
    switch last {
    case .shared(let value): return (value, last)
    case .evaluated(var evaluation):
      let value = node.value(of: evaluation.finish())
      return (value, .evaluated(evaluation))
    }
  }

  private func set(_ new: Last) {
    // Released outside the lock, because releasing the program's values may run its code.
    let replaced = last.exchange(new)
    withExtendedLifetime(replaced) {}
  }
}
