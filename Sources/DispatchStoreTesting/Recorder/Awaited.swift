import Foundation

/// A value behind a lock, whose changes tasks can await.
///
/// The change that a task awaits resumes it: no thread blocks, and no task polls.
final class Awaited<State: Sendable>: @unchecked Sendable {
  // because `lock` guards its state
  private let lock = NSLock()
  private var state: State
  private var waiters: [Int: Waiter] = [:]
  private var nextNumber = 0

  private struct Waiter {
    /// Stores the value that it finds in the state.
    ///
    /// Returns whether it found one.
    let find: (State) -> Bool
    let continuation: UnsafeContinuation<Void, Never>
  }

  /// The value that a waiter found.
  ///
  /// Guarded by the lock, not passed through the continuation, because Thread Sanitizer sees the lock.
  private final class Found<Value: Sendable>: @unchecked Sendable {
    var value: Value?
  }

  init(_ state: State) {
    self.state = state
  }

  func read<Value>(_ body: (State) -> Value) -> Value {
    lock.withLock { body(state) }
  }

  /// Changes the value, then resumes the tasks that find in it what they await.
  @discardableResult
  func change<Value>(_ body: (inout State) -> Value) -> Value {
    lock.lock()
    let value = body(&state)
    let found = waiters.filter { $0.value.find(state) }
    for number in found.keys { waiters[number] = nil }
    lock.unlock()
    // In the order in which they began to wait, so that a seeded run can be repeated.
    for (_, waiter) in found.sorted(by: { $0.key < $1.key }) { waiter.continuation.resume() }
    return value
  }

  /// Changes the value, and resumes no task: the next `change` does.
  @discardableResult
  func changeQuietly<Value>(_ body: (inout State) -> Value) -> Value {
    lock.withLock { body(&state) }
  }

  /// Returns the closure's first result that is not nil.
  ///
  /// Returns nil if the task is cancelled.
  ///
  /// - Parameter find: Called under the lock, at once and after each change.
  nonisolated(nonsending) func first<Value: Sendable>(
    _ find: @escaping @Sendable (State) -> Value?
  ) async -> Value? {
    let found = Found<Value>()
    let number = lock.withLock {
      nextNumber += 1
      return nextNumber
    }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let waiter = Waiter(
          find: { state in
            found.value = find(state)
            return found.value != nil
          }, continuation: continuation)
        let resumesAtOnce = lock.withLock {
          if waiter.find(state) || Task.isCancelled { return true }
          waiters[number] = waiter
          return false
        }
        if resumesAtOnce { continuation.resume() }
      }
    } onCancel: {
      // A task that has not stored its waiter yet sees `Task.isCancelled` under the lock.
      lock.withLock { waiters.removeValue(forKey: number) }?.continuation.resume()
    }
    return lock.withLock { found.value }
  }
}
