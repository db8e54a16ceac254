/// Names a lane, by type and value: `AnyHashable(1)` alone equals `AnyHashable(1.0)`.
struct LaneKey: Hashable, @unchecked Sendable {  // because it is only made of a Sendable value
  private let type: ObjectIdentifier
  private let value: AnyHashable

  init<Key: Hashable & Sendable>(_ key: Key) {
    type = ObjectIdentifier(Key.self)
    value = AnyHashable(key)
  }

  var description: String { "\(value.base)" }
}
