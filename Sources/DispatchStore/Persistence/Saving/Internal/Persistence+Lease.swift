// Each group renews the lease of the database's owner. An owner that writes nothing runs an empty transaction.
extension Persistence {
  /// Renews the lease if no group was written since the last look, and looks again after a while.
  ///
  /// - Parameter group: The last group at that look; nil at the first one.
  func renewLease(since group: Int64?) {
    guard let pause = writer.driver.leaseRenewal else { return }
    let errand = DatabaseErrand(end: { _ in })
    let (present, isAdded, isOver) = state.withLock { state -> (Int64, Bool, Bool) in
      let present = state.status.group
      // A pending write renews the lease, too. So nothing piles up while the server is away.
      let isIdle = present == group && state.commit.role == .free
      let isAdded = isIdle && state.commit.add(errand) == nil
      return (present, isAdded, state.commit.failure != nil)
    }
    if isOver { return }
    if isAdded { requestWriter() }
    _ = timers.add(at: clock.nanoseconds.addingClamped(pause.wholeNanoseconds)) { [weak self] in
      self?.renewLease(since: present)
    }
  }
}
