import Foundation

/// A value behind one lock, reachable only inside `withLock`.
///
/// `NSLock` rather than `Mutex`: Thread Sanitizer understands it on Linux, at the same price.
final class Locked<Value>: @unchecked Sendable {  // because every access to `value` holds `lock`
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) {
    self.value = value
  }

  func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
