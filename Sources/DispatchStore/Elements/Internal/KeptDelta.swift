/// A delta that an observer or a stream keeps, without its types.
@usableFromInline
class KeptDelta: StreamedElement, @unchecked Sendable {
  // because only the thread that has made it changes it, or one that has taken it, or locked the buffer that has it
  /// The last commit whose changes it has.
  var version: UInt64 { fatalError("KeptDelta is abstract.") }
  var isEmpty: Bool { fatalError("KeptDelta is abstract.") }

  @usableFromInline
  override init() {}
}

/// The same with its types.
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

/// What observers of deltas do with the types of their collection.
@usableFromInline
struct DeltaWork: Sendable {
  /// The present content as a delta, from which the next ones go on; called in the exclusive section, as the next two.
  let begin: @Sendable (_ model: UnsafeRawPointer, _ version: UInt64) -> KeptDelta
  /// What a commit has changed; nil where nothing.
  let read: @Sendable (CommitInProgress) -> KeptDelta?
  /// No more is read.
  let end: @Sendable (_ model: UnsafeRawPointer) -> Void
  /// Adds to a delta what the next one changes.
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
