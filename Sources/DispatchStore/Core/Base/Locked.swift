import Foundation

/// A value behind one lock, accessible only inside `withLock`.
///
/// Value and lock share one allocation. The lock is a POSIX mutex rather than `Mutex`, which Thread
/// Sanitizer does not understand on Linux.
@usableFromInline
package struct Locked<Value>: @unchecked Sendable {
  // because every access to the value holds the mutex
  private let storage: Storage

  @usableFromInline
  package init(_ value: Value) {
    self.init(making: { value })
  }

  /// Makes the value in place, so that a large one is not copied.
  init(making make: () -> Value) {
    storage = unsafeDowncast(
      Storage.create(minimumCapacity: 1) { buffer in
        buffer.withUnsafeMutablePointerToElements { _ = Lock(at: $0) }
        return make()
      }, to: Storage.self)
  }

  /// Passes the value to a closure under the lock, for state of the whole process.
  ///
  /// Threads outside a simulation lock it, too, so simulated threads block rather than yield.
  package func withLockOfProcess<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try storage.withUnsafeMutablePointers { value, mutex throws(Failure) in
      Lock(of: mutex).lockOfProcess()
      defer { Lock(of: mutex).unlock() }
      return try body(&value.pointee)
    }
  }

  func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try storage.withUnsafeMutablePointers { value, mutex throws(Failure) in
      Lock(of: mutex).lock()
      defer { Lock(of: mutex).unlock() }
      return try body(&value.pointee)
    }
  }

  /// Changes the value, and releases outside of the lock what the closure returns: its deinitialization may be code of
  /// the program.
  func withLockReleasing<Result>(_ body: (inout Value) -> Result) {
    withExtendedLifetime(withLock(body)) {}
  }

  /// Sets the value, and returns the former one, so that the caller releases it outside of the lock.
  @usableFromInline
  func exchange(_ new: Value) -> Value {
    withLock { value in
      defer { value = new }
      return value
    }
  }

  /// Passes the value to a closure under the lock if that is free; otherwise does nothing, and returns nil.
  func withLockIfFree<Result>(_ body: (inout Value) -> Result) -> Result? {
    storage.withUnsafeMutablePointers { value, mutex in
      guard Lock(of: mutex).lockIfFree() else { return nil }
      defer { Lock(of: mutex).unlock() }
      return body(&value.pointee)
    }
  }

  private final class Storage: ManagedBuffer<Value, pthread_mutex_t> {
    deinit {
      withUnsafeMutablePointerToElements { _ = pthread_mutex_destroy($0) }
    }
  }
}
