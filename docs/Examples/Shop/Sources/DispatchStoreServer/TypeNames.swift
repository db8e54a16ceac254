import Synchronization

/// The names of types, each made once, because the runtime takes about a microsecond for one.
final class TypeNames: Sendable {
  private let names = Mutex<[ObjectIdentifier: String]>([:])

  func name(of value: Any) -> String { name(type(of: value)) }

  private func name(_ type: any Any.Type) -> String {
    let key = ObjectIdentifier(type)
    if let name = names.withLock({ $0[key] }) { return name }
    let name = String(describing: type)
    names.withLock { $0[key] = name }
    return name
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
