import Synchronization

/// Values that are made once for each key, and kept.
final class Cache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let values = Mutex<[Key: Value]>([:])

  subscript(key: Key, orMake make: @autoclosure () -> Value) -> Value {
    if let known = values.withLock({ $0[key] }) { return known }
    // Outside the lock, since it may be the program's code. If two threads make it, the first one's is kept.
    let made = make()
    return values.withLock { values in
      if let known = values[key] { return known }
      values[key] = made
      return made
    }
  }
}

/// The names of types, each made once, because the runtime takes about a microsecond for one.
struct TypeNames: Sendable {
  private let names = Cache<ObjectIdentifier, String>()

  func name(of value: Any) -> String {
    let type = type(of: value)
    return names[ObjectIdentifier(type), orMake: String(describing: type)]
  }
}

extension Duration {
  /// The whole nanoseconds.
  var nanoseconds: Int64 {
    // Exact for a hundred days; `components` divides numbers of 128 bits.
    Int64(self / .nanoseconds(1))
  }

  /// The milliseconds, rounded to microseconds for people who read them.
  var milliseconds: Double { Double(nanoseconds / 1_000) / 1_000 }
}
