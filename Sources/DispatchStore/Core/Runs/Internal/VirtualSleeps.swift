import Synchronization

/// The number of tasks of a run that sleep until a test lets time pass.
package final class VirtualSleeps: Sendable {
  private let count = Atomic(0)
  private let whenBegun: @Sendable () -> Void

  /// - Parameter whenBegun: Called after each beginning.
  init(whenBegun: @escaping @Sendable () -> Void) {
    self.whenBegun = whenBegun
  }

  /// The sleeps of the run to which the current task belongs, if a test waits for that.
  package static var ofTask: VirtualSleeps? { (DispatchContext.inTask as? TaskContext)?.sleeps }

  /// Whether no task sleeps, or the time of one has come before its beginning was noted.
  var isEmpty: Bool { count.load(ordering: .acquiring) <= 0 }

  /// Notes a sleep that passing time ends from now on, or has ended.
  package func begin() {
    count.add(1, ordering: .acquiringAndReleasing)
    whenBegun()
  }

  /// Notes that a sleep ends, before its task resumes.
  ///
  /// Takes no lock, because the runtime may have locked a task that is cancelled.
  package func end() { count.subtract(1, ordering: .acquiringAndReleasing) }
}
