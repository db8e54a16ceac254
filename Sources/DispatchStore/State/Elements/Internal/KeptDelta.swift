/// A delta that an observer or a stream keeps, without its types.
@usableFromInline
class KeptDelta: StreamedElement, @unchecked Sendable {
  // because only its maker, its taker, or a thread with the lock of its buffer changes it
  /// The last commit in the delta.
  var version: UInt64 { fatalError("KeptDelta is abstract.") }
  var isEmpty: Bool { fatalError("KeptDelta is abstract.") }

  @usableFromInline
  override init() {}
}

/// A kept delta, with its types.
@usableFromInline
final class TypedDelta<Key: Hashable & Sendable, Value: Sendable>: KeptDelta, @unchecked Sendable {
  // because its superclass is
  @exclusivity(unchecked) @usableFromInline var delta: KeyedDelta<Key, Value>

  override var version: UInt64 { delta.versions.upperBound }
  override var isEmpty: Bool { delta.isEmpty }

  @inlinable
  init(_ delta: KeyedDelta<Key, Value>) {
    self.delta = delta
    super.init()
  }

  @inlinable
  static func delta(of kept: StreamedElement) -> KeyedDelta<Key, Value> {
    unsafeDowncast(kept, to: TypedDelta.self).delta
  }
}

/// The typed operations of a delta observer, as closures without the collection's types.
@usableFromInline
struct DeltaWork: Sendable {
  /// Returns the current content as a delta, and starts tracking; called in the exclusive section.
  let begin: @Sendable (_ model: UnsafeRawPointer, _ version: UInt64) -> KeptDelta
  /// Returns the changes of a commit, or nil if there are none; called in the exclusive section.
  let read: @Sendable (CommitInProgress) -> KeptDelta?
  /// Stops tracking; called in the exclusive section.
  let end: @Sendable (_ model: UnsafeRawPointer) -> Void
  /// Merges the next delta into a delta.
  let merge: @Sendable (_ delta: KeptDelta, _ next: KeptDelta) -> Void

  @usableFromInline
  init(
    begin: @escaping @Sendable (UnsafeRawPointer, UInt64) -> KeptDelta,
    read: @escaping @Sendable (CommitInProgress) -> KeptDelta?,
    end: @escaping @Sendable (UnsafeRawPointer) -> Void,
    merge: @escaping @Sendable (KeptDelta, KeptDelta) -> Void
  ) {
    (self.begin, self.read, self.end, self.merge) = (begin, read, end, merge)
  }

  @inlinable
  init<Model: Sendable, Elements: KeyedCollection & Sendable>(
    _ path: any KeyPath<Model, Elements> & Sendable
  ) where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
    typealias Kept = TypedDelta<Elements.ElementKey, Elements.ElementValue>
    let reader = DeltaReader(path)
    self.init(
      begin: { Kept(reader.begin($0, $1)) },
      read: { reader.readDelta(of: $0).map { Kept($0) } },
      end: { reader.end($0) },
      merge: {
        unsafeDowncast($0, to: Kept.self).delta.merge(Kept.delta(of: $1), reader.equality)
      })
  }
}
