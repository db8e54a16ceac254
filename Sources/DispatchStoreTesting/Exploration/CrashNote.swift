import DispatchStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Writes the seed of the simulation in which a program crashed to standard error, and the call that has run it.
///
/// A program that stops for a mistake ends the process, so a signal handler has to write the seed. It then restores
/// the previous handler, which handles the signal.
enum CrashNote {
  /// Sets the simulation of the calling thread's world, or nil for none.
  static func set(_ simulation: Simulation?) {
    // Stored plus one, because zero means that no value is set.
    let seed = simulation.flatMap { UnsafeRawPointer(bitPattern: UInt($0.seed &+ 1)) }
    pthread_setspecific(keys.seed, seed)
    let place = simulation?.place
    pthread_setspecific(keys.file, place.map { UnsafeRawPointer($0.fileID.utf8Start) })
    pthread_setspecific(keys.line, place.flatMap { UnsafeRawPointer(bitPattern: $0.line) })
  }

  /// Installs the handler, once.
  static func install() { _ = former }

  private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE]

  private static let keys = (seed: makeKey(), file: makeKey(), line: makeKey())

  private static func makeKey() -> pthread_key_t {
    var key = pthread_key_t()
    let error = pthread_key_create(&key, nil)
    if error != 0 { stopProgram("pthread_key_create failed with error \(error).") }
    return key
  }

  /// The previous handlers, by signal.
  ///
  /// Allocated before any crash.
  nonisolated(unsafe) private static let former: UnsafeMutablePointer<sigaction> = {
    _ = keys
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

  /// Writes the note.
  ///
  /// Runs in a signal handler, so it allocates nothing and takes no lock.
  private static func note(_ signal: Int32) {
    sigaction(signal, former + Int(signal), nil)
    if let value = pthread_getspecific(keys.seed) {
      put("\nIt crashed in the simulation with seed ")
      put(UInt64(UInt(bitPattern: value)) &- 1)
      if let file = pthread_getspecific(keys.file) {
        put(" at ")
        // The text of a literal ends with a zero byte.
        _ = write(2, file, strlen(file.assumingMemoryBound(to: CChar.self)))
        put(":")
        put(UInt64(UInt(bitPattern: pthread_getspecific(keys.line))))
      }
      put(".\n")
    }
    // On return, the faulting instruction runs again. A signal that was sent must be raised again.
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
