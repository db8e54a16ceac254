import Foundation
import Synchronization

/// The handling of Ctrl-C and other signals.
///
/// The first SIGINT or SIGTERM during the replays requests their end, and the program prints the results so far. A
/// repeated SIGTERM changes nothing. At any other time, and a second time, a signal ends a running git first. The
/// program then ends as with the default handler.
///
/// Git runs in a separate process group, to which a terminal does not send its Ctrl-C.
enum Interruption {
  /// The process of the running git, of which there is at most one; zero if none runs.
  private static let child = Atomic<pid_t>(0)

  /// The request that a signal makes.
  static let stop = Stop()

  /// Whether the program replays.
  private static let isReplaying = Atomic(false)

  /// Sets up the handlers, once, at the start.
  static func install() {
    // Initialized here, because a signal handler must not initialize a lazy global.
    child.store(0, ordering: .relaxed)
    isReplaying.store(false, ordering: .relaxed)
    _ = stop
    // A program that starts this one may have blocked signals: git would inherit that, and could not be ended.
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      let previous = signal(number) { number in
        if number != SIGHUP, Interruption.isReplaying.load(ordering: .relaxed),
          Interruption.stop.request(Signal(number))
        {
          return
        }
        // `timeout` sends its signal twice, to the program and to its process group.
        if number == SIGTERM, Interruption.stop.signal == Signal(SIGTERM) { return }
        let child = Interruption.child.load(ordering: .relaxed)
        if child > 0 { kill(child, SIGTERM) }
        signal(number, SIG_DFL)
        raise(number)
      }
      // A signal that a shell or `nohup` has set to be ignored stays ignored.
      if isIgnore(previous) { signal(number, SIG_IGN) }
    }
    // A closed reader of the output ends the program, even if the parent process ignores the signal.
    signal(SIGPIPE, SIG_DFL)
  }

  private static func isIgnore(_ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
    unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Notes that the replays have begun, or have ended.
  static func replays(_ isReplaying: Bool) {
    self.isReplaying.store(isReplaying, ordering: .relaxed)
  }

  static func watch(_ process: pid_t) {
    child.store(process, ordering: .relaxed)
  }

  static func unwatch(_ process: pid_t) {
    _ = child.compareExchange(expected: process, desired: 0, ordering: .relaxed)
  }
}
