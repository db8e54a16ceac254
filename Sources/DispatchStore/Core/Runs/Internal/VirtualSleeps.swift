import Synchronization

/// The tasks of a run that sleep, or await a dispatch, until a test lets time pass.
package final class VirtualSleeps: Sendable {
  private let count = Atomic(0)
  /// The dispatches that tasks await.
  private let awaited = Locked([DispatchID: Dispatch]())
  private let whenBegun: @Sendable () -> Void

  /// - Parameter whenBegun: Called after each beginning.
  init(whenBegun: @escaping @Sendable () -> Void) {
    self.whenBegun = whenBegun
  }

  /// The sleeps of the run to which the current task belongs, if a test waits for that.
  package static var ofTask: VirtualSleeps? { (DispatchContext.inTask as? TaskContext)?.sleeps }

  /// Whether a task sleeps, and the time has not come before its beginning was noted.
  var isAnySleeping: Bool { count.load(ordering: .acquiring) > 0 }

  /// Whether a task sleeps, or awaits a dispatch that waits for time to pass.
  ///
  /// - Parameter resting: The dispatches under way that rest.
  func isAnyResting(with resting: Set<DispatchID>) -> Bool {
    if isAnySleeping { return true }
    // Asked outside of the lock, inside which no dispatch's own is taken.
    return awaited.withLock { $0 }.values.contains { $0.awaitsDelay(orOneOf: resting) }
  }

  /// Notes that a task awaits a dispatch, which may rest now or later.
  func begin(awaiting dispatch: Dispatch) {
    let id = dispatch.id
    awaited.withLock { $0[id] = dispatch }
    dispatch.at(.beforeResult) { self.awaited.withLockReleasing { $0.removeValue(forKey: id) } }
    whenBegun()
  }

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
