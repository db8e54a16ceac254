#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension UnsafeMutablePointer<pthread_mutex_t> {
  /// Locks the mutex; while another thread has it locked, a simulated thread yields.
  func lock() {
    #if SIMULATION
      guard hasSimulated else {
        pthread_mutex_lock(self)
        return
      }
      if pthread_mutex_trylock(self) != 0 { lockContended() }
    #else
      pthread_mutex_lock(self)
    #endif
  }

  #if SIMULATION
    @inline(never)
    private func lockContended() {
      // May be called while the thread's state is created.
      guard let thread = ThreadState.known?.simulated else {
        pthread_mutex_lock(self)
        return
      }
      repeat {
        thread.wait(for: "a lock") {
          guard pthread_mutex_trylock(self) == 0 else { return false }
          pthread_mutex_unlock(self)
          return true
        }
      } while pthread_mutex_trylock(self) != 0
    }
  #endif
}
