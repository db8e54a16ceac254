import Foundation

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

  /// The lock that was made at this address.
  @inline(__always)
  init(of mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    self.mutex = mutex
  }

  func destroy() {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Locks; while another thread has locked it, a simulated thread yields.
  @inline(__always)
  func lock() {
    #if SIMULATION
      if hasSimulated { return lockInSimulation() }
    #endif
    pthread_mutex_lock(mutex)
  }

  /// Locks state that threads outside a simulation lock, too: simulated threads block rather than yield.
  @inline(__always)
  func lockOfProcess() {
    pthread_mutex_lock(mutex)
    count(1)
  }

  /// Locks if no thread has locked it; returns whether it did.
  @inline(__always)
  func lockIfFree() -> Bool {
    guard pthread_mutex_trylock(mutex) == 0 else { return false }
    count(1)
    return true
  }

  @inline(__always)
  func unlock() {
    pthread_mutex_unlock(mutex)
    count(-1)
  }

  /// Counts the locks of a simulated thread, which may yield at a lock only if it has none.
  @inline(__always)
  private func count(_ change: Int) {
    #if SIMULATION
      if hasSimulated { ThreadState.known?.simulated?.lockCount += change }
    #endif
  }

  #if SIMULATION
    @inline(never)
    private func lockInSimulation() {
      // May be called while the thread's state is created.
      guard let thread = ThreadState.known?.simulated else {
        pthread_mutex_lock(mutex)
        return
      }
      if thread.lockCount == 0 { thread.comeToLock() }
      thread.lock("a lock") {
        pthread_mutex_trylock(mutex) == 0
      } unlock: {
        pthread_mutex_unlock(mutex)
      }
      thread.lockCount += 1
    }
  #endif
}
