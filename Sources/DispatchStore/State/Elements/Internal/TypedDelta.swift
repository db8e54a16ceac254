/// A kept delta, into which later ones may be merged.
@usableFromInline
final class TypedDelta<Key: Hashable & Sendable, Value: Sendable>: KeptValue, @unchecked Sendable {
  // because only its maker, its taker, or a thread with the lock of its buffer changes it
  @exclusivity(unchecked) @usableFromInline var delta: KeyedDelta<Key, Value>

  @inlinable
  init(_ delta: KeyedDelta<Key, Value>) {
    self.delta = delta
    super.init()
  }

  @inlinable
  static func of(_ kept: KeptValue?) -> TypedDelta {
    unsafeDowncast(kept.unsafelyUnwrapped, to: TypedDelta.self)
  }
}
