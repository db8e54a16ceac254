import DispatchStore

/// A sleep, which ends once: at its deadline, or when its task is cancelled.
final class VirtualSleep: Sendable {
  private let state = Locked(State())
  private let sleeps = VirtualSleeps.ofTask

  private struct State {
    var continuation: UnsafeContinuation<Void, any Error>?
    var onCancel: (() -> Void)?
    var result: Result<Void, any Error>?

    /// Ends the sleep; returns what is to be called, or nil if it has ended before.
    mutating func end(
      _ result: Result<Void, any Error>
    ) -> (continuation: UnsafeContinuation<Void, any Error>?, onCancel: (() -> Void)?)? {
      if self.result != nil { return nil }
      self.result = result
      return (continuation.take(), onCancel.take())
    }
  }

  /// Stores the continuation.
  ///
  /// Returns false if the sleep has ended already.
  func begin(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
    let result = state.withLockOfProcess { state in
      if state.result == nil { state.continuation = continuation }
      return state.result
    }
    if let result { continuation.resume(with: result) }
    return result == nil
  }

  /// Notes that the clock has the sleep.
  func hasBegun() { sleeps?.begin() }

  /// Sets the closure to call on cancellation.
  ///
  /// - Parameter body: Called at once if the sleep was cancelled before.
  func whenCancelled(_ body: @escaping () -> Void) {
    let isCancelled = state.withLockOfProcess { state in
      if case .failure? = state.result { return true }
      state.onCancel = body
      return false
    }
    if isCancelled { body() }
  }

  func end(_ result: Result<Void, any Error>) {
    guard let calls = state.withLockOfProcess({ $0.end(result) }) else { return }
    if case .failure = result { calls.onCancel?() }
    if calls.continuation != nil { sleeps?.end() }
    calls.continuation?.resume(with: result)
  }
}
