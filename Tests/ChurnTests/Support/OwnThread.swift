import Foundation

/// Runs a closure that blocks on a new thread: the pool that runs the tests has few threads, and the
/// dispatcher needs some of them.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  let end = End<Value>()
  let (stream, continuation) = AsyncStream<Never>.makeStream()
  Thread.detachNewThread {
    end.set(body())
    continuation.finish()
  }
  // A bare continuation that is resumed before its task is suspended looks like a race to Thread
  // Sanitizer; and the value goes through a lock because it sees only that.
  for await _ in stream {}
  return end.value
}

/// The same for a closure that throws.
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
