/// What the library uses of SwiftUI's type.
public struct Binding<Value>: Sendable {
  private let get: @isolated(any) @Sendable () -> Value
  private let set: @isolated(any) @Sendable (Value) -> Void

  /// Makes a binding of two closures, as in SwiftUI.
  public init(
    get: @escaping @isolated(any) @Sendable () -> Value,
    set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {
    self.get = get
    self.set = set
  }
}

extension Binding where Value: Sendable {
  /// Calls the closure that reads.
  public func read() async -> Value { await get() }

  /// Calls the closure that writes.
  public func write(_ value: Value) async { await set(value) }
}
