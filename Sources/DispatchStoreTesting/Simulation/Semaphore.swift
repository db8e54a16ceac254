import DispatchStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Dispatch
#endif

/// The semaphore on which a thread sleeps until it gets the baton.
///
/// A POSIX semaphore if there is one, because Thread Sanitizer sees the order that it creates.
final class Semaphore: @unchecked Sendable {  // because a semaphore may be used from any thread
  #if canImport(Darwin)
    private let semaphore = DispatchSemaphore(value: 0)

    func signal() { semaphore.signal() }
    func wait() { semaphore.wait() }
  #else
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
      let error = sem_init(semaphore, 0, 0)
      if error != 0 { stopProgram("sem_init failed with errno \(errno).") }
    }

    deinit {
      sem_destroy(semaphore)
      semaphore.deallocate()
    }

    func signal() {
      sem_post(semaphore)
    }

    func wait() {
      while sem_wait(semaphore) != 0 {}
    }
  #endif
}
