import DispatchStore
import Foundation

/// A sleep, which ends once: at its deadline, or when its task is cancelled.
final class VirtualSleep: @unchecked Sendable {  // because `lock` guards its state
  private let lock = NSLock()
  private var continuation: UnsafeContinuation<Void, any Error>?
  private var onCancel: (() -> Void)?
  private var result: Result<Void, any Error>?
  private let sleeps = VirtualSleeps.ofTask

  /// Stores the continuation.
  ///
  /// Returns false if the sleep has ended already.
  func begin(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
    let result = lock.withLock {
      if self.result == nil { self.continuation = continuation }
      return self.result
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
    let isCancelled = lock.withLock { () -> Bool in
      if case .failure? = result { return true }
      onCancel = body
      return false
    }
    if isCancelled { body() }
  }

  func end(_ result: Result<Void, any Error>) {
    lock.lock()
    guard self.result == nil else { return lock.unlock() }
    self.result = result
    let (continuation, onCancel) = (self.continuation, self.onCancel)
    (self.continuation, self.onCancel) = (nil, nil)
    lock.unlock()
    if case .failure = result { onCancel?() }
    if continuation != nil { sleeps?.end() }
    continuation?.resume(with: result)
  }
}
