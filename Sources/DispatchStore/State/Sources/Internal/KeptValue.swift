/// A value that a follower of a store keeps, without its type: an object, so keeping it needs no lookup of type metadata.
@usableFromInline typealias KeptValue = any AnyObject & Sendable

/// A value and the one before it.
@usableFromInline
final class ReplacedValue<Value: Sendable>: Sendable {
  @usableFromInline let old: Value?
  @usableFromInline let value: Value

  @inlinable
  init(old: Value?, by value: Value) {
    (self.old, self.value) = (old, value)
  }
}
