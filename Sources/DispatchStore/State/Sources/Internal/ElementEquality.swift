/// Compares elements of a type that may be `Equatable`.
///
/// The conformance is looked up once, because a cast takes longer than a comparison.
@usableFromInline
struct ElementEquality<Value: Sendable>: Sendable {
  /// The type's `==`; nil if it is not `Equatable`.
  @usableFromInline let areEqual: (@Sendable (Value, Value) -> Bool)?

  @usableFromInline
  init() {
    areEqual = (Value.self as? any Equatable.Type).map { Self.comparison($0) }
  }

  /// Whether an element has changed: it neither has the same bytes, as a NaN that stays, nor is equal; true if the
  /// elements can't be compared.
  @inlinable
  func differ(_ old: Value?, _ new: Value?) -> Bool {
    switch (old, new) {
    case (nil, nil): false
    case (let old?, let new?): areEqual.map { !haveSameBytes(old, new) && !$0(old, new) } ?? true
    default: true
    }
  }

  /// Whether no comparison is needed: both elements are missing, or have the same bytes and could be compared.
  ///
  /// Unlike `differ` it calls no user code.
  @inlinable
  func isCertainlySame(_ old: Value?, _ new: Value?) -> Bool {
    switch (old, new) {
    case (nil, nil): true
    case (let old?, let new?): areEqual != nil && haveSameBytes(old, new)
    default: false
    }
  }

  private static func comparison<Equal: Equatable>(
    _ type: Equal.Type
  ) -> @Sendable (Value, Value) -> Bool {
    { one, other in
      // Both values are of type `Equal`, which the compiler does not know.
      withUnsafePointer(to: one) { one in
        withUnsafePointer(to: other) { other in
          UnsafeRawPointer(one).assumingMemoryBound(to: Equal.self).pointee
            == UnsafeRawPointer(other).assumingMemoryBound(to: Equal.self).pointee
        }
      }
    }
  }
}
