/// Names a lane, by type and value: `AnyHashable(1)` alone equals `AnyHashable(1.0)`.
///
/// The hash is made once, where the key is: a table that goes by it calls nothing of the user's.
final class LaneKey: Hashable, @unchecked Sendable {
  // because it is constant, and only made of a Sendable value
  let hash: Int
  private let type: ObjectIdentifier
  private let value: AnyHashable

  init<Key: Hashable & Sendable>(_ key: Key) {
    type = ObjectIdentifier(Key.self)
    value = AnyHashable(key)
    hash = value.hashValue
  }

  static func == (lhs: LaneKey, rhs: LaneKey) -> Bool {
    lhs === rhs || lhs.hash == rhs.hash && lhs.type == rhs.type && lhs.value == rhs.value
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(hash)
  }

  var description: String { "\(value.base)" }
}
