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

  /// Calls back with whether this process owns the database: at once while its lease goes on, or else once the database
  /// has answered.
  ///
  /// A process that was cut off, or stood still, would do work otherwise that the next owner does, too.
  func whenOwner(_ body: @escaping @Sendable (Bool) -> Void) {
    guard writer.driver.isLeaseOver else {
      return body(state.withLock { $0.commit.failure == nil })
    }
    let errand = DatabaseErrand(end: { self.answerOwnerQuestions(with: $0) })
    let refusal = state.withLock { state -> PersistenceError? in
      state.ownerQuestions.append(body)
      // Many effects and schedules may ask: a single errand answers all of them.
      return state.ownerQuestions.count == 1 ? state.commit.add(errand) : nil
    }
    if let refusal { errand.ended(refusal) } else { requestWriter() }
  }

  private func answerOwnerQuestions(with error: PersistenceError?) {
    let questions = state.withLock { state in
      defer { state.ownerQuestions = [] }
      return state.ownerQuestions
    }
    // Asked once more, since the lease that the errand has renewed may be over, too.
    for body in questions { if error == nil { whenOwner(body) } else { body(false) } }
  }
}
