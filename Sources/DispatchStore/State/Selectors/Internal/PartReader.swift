/// Reads a part of the model for one subscription.
///
/// In the exclusive section of a commit the part is read, and kept if its bytes have changed. Values are compared
/// where the change is delivered, outside the section.
final class PartReader<Value: Sendable>: Sendable {
  private let node: TypedSelectorNode<Value>
  /// The part as of the last change.
  private let last = Locked<Selection?>(nil)

  init(_ node: TypedSelectorNode<Value>) {
    self.node = node
  }

  func begin(_ model: UnsafeRawPointer, _ version: UInt64) -> KeptValue {
    let selection = node.read(model, last: nil, stamp: version)
    last.withLock { $0 = selection }
    return selection
  }

  func read(_ commit: CommitInProgress, _ last: KeptValue?) -> KeptValue? {
    let last = last.map { unsafeDowncast($0, to: Selection.self) }
    let selection = node.read(commit.model, last: last, stamp: commit.version)
    return selection === last ? nil : selection
  }

  func receive(_ note: KeptNote) -> ChangeContent<Value>? {
    guard let value = note.value, let old = last.withLock({ $0 }) else { return nil }
    let new = node.settle(unsafeDowncast(value, to: Selection.self), last: old)
    last.withLock { $0 = new }
    withExtendedLifetime(old) {}
    return node.content(from: old, to: new, isInitial: note.isInitial)
  }
}

extension TypedSelectorNode {
  /// The content of a change from one selection to the next, or nil if their values are equal.
  func content(
    from old: Selection, to new: Selection, isInitial: Bool
  ) -> ChangeContent<Value>? {
    if isInitial { return .now(value(of: new)) }
    if new.stamp == old.stamp { return nil }
    return .replaced(ReplacedValue(old: value(of: old), by: value(of: new)))
  }
}
