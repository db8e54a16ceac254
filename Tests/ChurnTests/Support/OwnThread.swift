import Foundation

/// Runs what blocks on a thread of its own: the threads of the pool that run the tests are few, and
/// the dispatcher needs some itself.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  let end = End<Value>()
  // The value goes through a lock and not through the continuation: Thread Sanitizer sees only that.
  await withUnsafeContinuation { continuation in
    Thread.detachNewThread {
      end.set(body())
      continuation.resume()
    }
  }
  return end.value
}

/// The same for what can fail.
func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await onOwnThread { Result { try body() } }.get()
}

private final class End<Value: Sendable>: @unchecked Sendable {
  // Unchecked because: `stored` is only touched while `lock` is held.
  private let lock = NSLock()
  private var stored: Value?

  func set(_ value: Value) { lock.withLock { stored = value } }

  var value: Value { lock.withLock { stored! } }
}
