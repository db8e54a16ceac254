/// A value that is set once, later; closures and tasks wait for it.
final class Eventual<Value: Sendable>: Sendable {
  private let state = Locked(State())

  private struct State {
    var value: Value?
    var waiters: [@Sendable (Value) -> Void] = []
  }

  var isSet: Bool { state.withLock { $0.value != nil } }

  /// Sets it, and calls what waits for it on this thread; does nothing where it is set.
  func set(_ value: Value) {
    let waiters = state.withLock { state in
      if state.value != nil { return [@Sendable (Value) -> Void]() }
      state.value = value
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(value) }
  }

  /// Calls a closure once it is set: at once where it is, else on the thread that sets it.
  func whenSet(_ body: @escaping @Sendable (Value) -> Void) {
    let value = state.withLock { state in
      if state.value == nil { state.waiters.append(body) }
      return state.value
    }
    if let value { body(value) }
  }

  nonisolated(nonsending) var value: Value {
    get async {
      await withUnsafeContinuation { continuation in
        whenSet { continuation.resume(returning: $0) }
      }
    }
  }
}
