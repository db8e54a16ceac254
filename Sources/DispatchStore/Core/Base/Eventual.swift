import Dispatch

/// A value that is set once, and for which closures, tasks and threads can wait.
@usableFromInline
final class Eventual<Value: Sendable>: Sendable {
  private let state = Locked(State())

  private struct State {
    var value: Value?
    var waiters: [@Sendable (Value) -> Void] = []
  }

  var isSet: Bool { valueIfSet != nil }

  var valueIfSet: Value? { state.withLock(\.value) }

  /// Sets the value, and calls the waiting closures on this thread; does nothing if it is set already.
  func set(_ value: Value) {
    let waiters = state.withLock { state in
      if state.value != nil { return [@Sendable (Value) -> Void]() }
      state.value = value
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(value) }
  }

  /// Calls a closure with the value: at once if it is set, else on the thread that sets it.
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

  /// Blocks this thread until the value is set.
  func wait() -> Value {
    ThreadState.current.simulated?.wait(for: "its delivery turn") { self.isSet }
    let isKnown = DispatchSemaphore(value: 0)
    whenSet { _ in isKnown.signal() }
    isKnown.wait()
    return valueIfSet!
  }
}
