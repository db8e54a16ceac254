/// A value that a follower of a store keeps, without its type.
///
/// Without a generic type, keeping it needs no lookup of type metadata.
@usableFromInline
class KeptValue: @unchecked Sendable {
  // because subclasses are constant, or changed only by their owner
  @usableFromInline
  init() {}
}

/// A value and the one before it.
@usableFromInline
final class ReplacedValue<Value: Sendable>: KeptValue, @unchecked Sendable {
  // because its superclass is, and it is constant
  @usableFromInline let old: Value?
  @usableFromInline let value: Value

  @inlinable
  init(old: Value?, by value: Value) {
    (self.old, self.value) = (old, value)
    super.init()
  }
}
