import Synchronization

/// The tasks of a run that sleep, or await a delayed dispatch, until a test lets time pass.
package final class VirtualSleeps: Sendable {
  private let count = Atomic(0)
  /// The dispatches that tasks await, and that waited for time to pass when the wait began.
  private let awaited = Locked([Dispatch]())
  private let whenBegun: @Sendable () -> Void

  /// - Parameter whenBegun: Called after each beginning.
  init(whenBegun: @escaping @Sendable () -> Void) {
    self.whenBegun = whenBegun
  }

  /// The sleeps of the run to which the current task belongs, if a test waits for that.
  package static var ofTask: VirtualSleeps? { (DispatchContext.inTask as? TaskContext)?.sleeps }

  /// Whether a task sleeps, and its time has not come before its beginning was noted.
  var isAnySleeping: Bool { count.load(ordering: .acquiring) > 0 }

  /// Whether no task sleeps, and no awaited dispatch waits for time to pass.
  var isEmpty: Bool {
    if isAnySleeping { return false }
    // Asked outside of the lock, inside which no dispatch's own is taken.
    return !awaited.withLock { $0 }.contains(where: \.awaitsDelay)
  }

  /// Notes that a task awaits a dispatch, if passing time begins that.
  func begin(awaiting dispatch: Dispatch) {
    guard dispatch.awaitsDelay else { return }
    let id = dispatch.id
    awaited.withLock { $0.append(dispatch) }
    dispatch.at(.beforeResult) { self.awaited.withLock { $0.removeAll { $0.id == id } } }
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

extension Dispatch {
  /// Whether it begins later, or waits for a dispatch that does: passing time has to come first.
  var awaitsDelay: Bool {
    // All are kept, so that no identity is that of another one.
    var (all, found) = ([self], Set([ObjectIdentifier(self)]))
    var count = 0
    while count < all.count {
      let dispatch = all[count]
      if dispatch.details?.withState(\.isDelayed) == true { return true }
      all += dispatch.dispatchesBefore.filter { found.insert(ObjectIdentifier($0)).inserted }
      count += 1
    }
    return false
  }
}
