#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension UnsafeMutablePointer<pthread_mutex_t> {
  /// Locks the mutex; while another thread has it locked, a simulated thread yields.
  @inline(__always)
  func lock() {
    #if SIMULATION
      guard hasSimulated else {
        pthread_mutex_lock(self)
        return
      }
      lockInSimulation()
    #else
      pthread_mutex_lock(self)
    #endif
  }

  /// Locks the mutex; a simulated thread blocks, too.
  @inline(__always)
  func lockOfProcess() {
    pthread_mutex_lock(self)
    count(1)
  }

  /// Locks the mutex if it is free; returns whether it was.
  @inline(__always)
  func lockIfFree() -> Bool {
    guard pthread_mutex_trylock(self) == 0 else { return false }
    count(1)
    return true
  }

  @inline(__always)
  func unlock() {
    pthread_mutex_unlock(self)
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
        pthread_mutex_lock(self)
        return
      }
      if thread.lockCount == 0 { thread.comeToLock() }
      thread.lock("a lock") {
        pthread_mutex_trylock(self) == 0
      } unlock: {
        pthread_mutex_unlock(self)
      }
      thread.lockCount += 1
    }
  #endif
}
