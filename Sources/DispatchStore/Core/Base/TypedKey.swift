/// A key of the program; keys are equal by type and value, while `AnyHashable(1)` equals `AnyHashable(1.0)`.
///
/// The hash is computed once, when the key is made, so that hashing the key again calls no user code.
final class TypedKey: Hashable, Sendable {
  let hash: Int
  private let value: any Hashable & Sendable

  init(_ key: some Hashable & Sendable) {
    value = key
    hash = key.hashValue
  }

  static func == (lhs: TypedKey, rhs: TypedKey) -> Bool {
    lhs === rhs || lhs.hash == rhs.hash && lhs.value.equals(rhs.value)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(hash)
  }

  var description: String { "\(value)" }

  /// The key, if it is of a type.
  func cast<Value>(to type: Value.Type) -> Value? { value as? Value }
}

extension Hashable {
  /// Whether the other value has the same static type, and is equal.
  fileprivate func equals<Other: Hashable>(_ other: Other) -> Bool {
    Self.self == Other.self && other as? Self == self
  }
}
