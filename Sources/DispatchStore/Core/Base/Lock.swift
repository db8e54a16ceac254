#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A lock for state that its owner stores beside it; the owner destroys the lock.
///
/// A POSIX mutex rather than `Mutex`, which Thread Sanitizer does not understand on Linux. If the guarded type is
/// generic, this is cheaper than `Locked`: no call looks up generic metadata.
struct Lock: @unchecked Sendable {  // because a mutex may be used from any thread
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    self.init(at: .allocate(capacity: 1))
  }

  /// Makes a lock at the beginning of memory that `destroy` frees.
  init(at memory: UnsafeMutablePointer<pthread_mutex_t>) {
    mutex = memory
    let error = pthread_mutex_init(mutex, nil)
    if error != 0 { stopProgram("pthread_mutex_init failed with error \(error).") }
  }

  func destroy() {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func lock() {
    mutex.lock()
  }

  /// Locks state that threads outside a simulation lock, too: simulated threads block rather than yield.
  @inline(__always)
  func lockOfProcess() {
    mutex.lockOfProcess()
  }

  @inline(__always)
  func unlock() {
    mutex.unlock()
  }
}
