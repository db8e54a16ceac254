#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A lock for what its owner stores itself.
///
/// A POSIX mutex rather than `Mutex`, which Thread Sanitizer does not understand on Linux. Where the
/// guarded type is generic, this is cheaper than `Locked`, whose own type is then looked up for each
/// call.
struct Lock: @unchecked Sendable {  // because a mutex may be used from any thread
  private let storage: Storage

  init() {
    storage = unsafeDowncast(
      Storage.create(minimumCapacity: 1) { buffer in
        buffer.withUnsafeMutablePointerToElements { mutex in
          let error = pthread_mutex_init(mutex, nil)
          precondition(error == 0, "pthread_mutex_init failed with error \(error).")
        }
      }, to: Storage.self)
  }

  @inline(__always)
  func lock() {
    storage.withUnsafeMutablePointerToElements { _ = pthread_mutex_lock($0) }
  }

  @inline(__always)
  func unlock() {
    storage.withUnsafeMutablePointerToElements { _ = pthread_mutex_unlock($0) }
  }

  private final class Storage: ManagedBuffer<Void, pthread_mutex_t> {
    deinit {
      withUnsafeMutablePointerToElements { _ = pthread_mutex_destroy($0) }
    }
  }
}
