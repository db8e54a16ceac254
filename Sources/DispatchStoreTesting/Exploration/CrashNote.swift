#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Says on standard error with which seed a program was simulated when it crashed.
///
/// A precondition that fails ends the process: nothing else could tell the seed any longer. Then the
/// handler that was there before goes on.
enum CrashNote {
  /// The seed of the world that the calling thread is of; nil for none.
  static func set(_ seed: UInt64?) {
    // One more, since nothing is the same as zero here.
    pthread_setspecific(key, seed.flatMap { UnsafeMutableRawPointer(bitPattern: UInt($0 &+ 1)) })
  }

  /// Installs the handler, once.
  static func install() { _ = former }

  private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE]

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = pthread_key_create(&key, nil)
    precondition(error == 0, "pthread_key_create failed with error \(error).")
    return key
  }()

  /// By signal; made where nothing has crashed yet.
  nonisolated(unsafe) private static let former: UnsafeMutablePointer<sigaction> = {
    _ = key
    let former = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    for signal in signals {
      var action = sigaction()
      #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = { CrashNote.note($0) }
      #else
        action.__sigaction_handler.sa_handler = { CrashNote.note($0) }
      #endif
      action.sa_flags = Int32(bitPattern: UInt32(SA_ONSTACK))
      sigaction(signal, &action, former + Int(signal))
    }
    return former
  }()

  /// Allocates nothing and takes no lock: it may have been one that crashed.
  private static func note(_ signal: Int32) {
    sigaction(signal, former + Int(signal), nil)
    if let value = pthread_getspecific(key) {
      put("\nIt crashed in the simulation with seed ")
      put(UInt64(UInt(bitPattern: value)) &- 1)
      put(".\n")
    }
    // Returning repeats what was fatal; a signal that was sent has to be sent again.
    if signal == SIGABRT { raise(signal) }
  }

  private static func put(_ text: StaticString) {
    _ = write(2, text.utf8Start, text.utf8CodeUnitCount)
  }

  private static func put(_ number: UInt64) {
    if number >= 10 { put(number / 10) }
    var digit = UInt8(ascii: "0") + UInt8(number % 10)
    _ = write(2, &digit, 1)
  }
}
