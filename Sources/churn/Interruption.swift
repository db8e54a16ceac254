import Foundation
import Synchronization

/// Ends the program on Ctrl-C and SIGTERM as if nothing had been set up for them, after it has ended
/// the git that may be running: that one is in a process group of its own, which a terminal's Ctrl-C
/// does not reach.
enum Interruption {
  /// Zero while no git is running.
  ///
  /// At most one is.
  private static let child = Atomic<pid_t>(0)

  /// Sets up the handlers, once, at the start.
  static func install() {
    // Made here: a handler may not be the first to touch a lazy global.
    child.store(0, ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      let previous = signal(number) { number in
        let child = Interruption.child.load(ordering: .relaxed)
        if child > 0 { kill(child, SIGTERM) }
        signal(number, SIG_DFL)
        raise(number)
      }
      // What a shell or `nohup` wants ignored stays so.
      if isIgnore(previous) { signal(number, SIG_IGN) }
    }
    // A reader of our output that goes away ends us, also where a parent had this ignored.
    signal(SIGPIPE, SIG_DFL)
  }

  private static func isIgnore(_ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
    unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  static func watch(_ process: pid_t) {
    child.store(process, ordering: .relaxed)
  }

  static func unwatch(_ process: pid_t) {
    _ = child.compareExchange(expected: process, desired: 0, ordering: .relaxed)
  }
}
