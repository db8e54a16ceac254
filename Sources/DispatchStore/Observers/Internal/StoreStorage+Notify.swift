/// A store's delivery turn, on the thread that waits for it or has it.
extension StoreStorage: DeliveryTurn {
  /// Does about a delivery what was decided under the store's lock.
  func carryOut(_ turn: NotificationQueue.Turn, on thread: ThreadState) {
    switch turn {
    case .none, .leave:
      break
    case .notify(let delivery):
      notify(beginningWith: delivery, on: thread)
    case .wait(let gate):
      guard case .takeTurn = gate.wait() else { return }
      yieldPoint(.takeDeliveryTurn, on: thread, identifier)
      notify(beginningWith: withLock { $0.takeTurn() }, on: thread)
    }
  }

  /// Ends the exclusive section in which a commit was made, and notifies the observers of it.
  @usableFromInline
  func unlockAndNotify(
    _ change: ObservedChange?, _ kept: KeptCommit, for owner: (any CommitOwner)?,
    on thread: ThreadState
  ) {
    version &+= 1
    var turn = NotificationQueue.Turn.none
    if let change {
      // Before the lock is unlocked, so that deliveries follow commit order.
      turn = withNotifications {
        $0.enqueue(change, owner: owner, mayWait: thread.turns.isEmpty)
      }
      // Likewise, because the notifier may make the delivery at once.
      if case .leave(let owner?) = turn { owner.commitDeferred() }
    }
    thread.exclusive = nil
    lock.unlock()
    for observer in kept.due { observer.scheduleCall() }
    if kept.hasCancelled { releaseCancelledObservers() }
    carryOut(turn, on: thread)
  }

  /// Adds an observer, and ends the exclusive section in which that was decided.
  ///
  /// - Parameter present: The present model, where the observer is notified of that first.
  func unlockAdding(
    _ observer: ObserverRecord, _ present: ObservedChange?, on thread: ThreadState
  ) -> NotificationQueue.Turn {
    defer { unlockUnchanged(on: thread) }
    return withObserversLocked {
      $0.add(observer, from: version &+ 1, present: present, mayWait: thread.turns.isEmpty)
    }
  }

  /// Lets observers keep what they get of a commit, in its exclusive section.
  @usableFromInline
  func keep(
    model: UnsafeRawPointer, action: UnsafeRawPointer, of owner: (any CommitOwner)?
  ) -> KeptCommit {
    let commit = CommitInProgress(
      model: model, action: action, version: version &+ 1, transaction: owner?.transaction)
    return withNotifications { $0.keep(commit) }
  }

  /// Makes one delivery and those that were left behind it, then passes the turn on.
  private func notify(beginningWith delivery: Delivery, on thread: ThreadState) {
    thread.turns.append(self)
    yieldPoint(.notify, on: thread, identifier)
    deliver(delivery)
    notifying: while true {
      yieldPoint(.nextNotice, on: thread, identifier)
      switch withLock({ $0.next() }) {
      case .notify(let left):
        deliver(left)
        if let owner = left.owner { thread.deliveredOwners.append(owner) }
      case .handOver(let gate):
        gate.open(.takeTurn)
        break notifying
      case .done:
        break notifying
      }
    }
    thread.turns.removeLast()
    if thread.turns.isEmpty { thread.resumeDeliveredOwners() }
  }

  private func deliver(_ delivery: Delivery) {
    if let only = delivery.only { return only.notify(of: delivery.change) }
    var isCancelled = false
    for case let registration? in withLock({ $0.observers.slots }) {
      yieldPoint(.callObserver, identifier)
      let observer = registration.observer
      if registration.firstVersion <= delivery.change.version {
        observer.notify(of: delivery.change)
      }
      isCancelled = isCancelled || observer.isCancelled
    }
    if isCancelled { releaseCancelledObservers() }
  }

  /// Removes an observer that was cancelled; its caller releases it, outside the lock, because what an
  /// observer captures may run code then.
  func remove(_ observer: ObserverRecord) {
    withObservers { $0.remove(observer) }
  }

  /// Removes those that were cancelled inside an exclusive section.
  func releaseCancelledObservers() {
    withExtendedLifetime(withObservers { $0.takeCancelledObservers() }) {}
  }

  /// The notifier begins to wait inside the library: no thread may wait for its turn any longer.
  func notifierBeginsToWait() {
    yieldPoint(.beginWait, identifier)
    let unblocked = withLock { $0.notifierBeginsToWait() }
    for gate in unblocked.gates { gate.open(.leave) }
    for owner in unblocked.owners { owner.commitDelivered() }
  }

  func notifierHasWaited() {
    yieldPoint(.endWait, identifier)
    withLock { $0.notifierHasWaited() }
  }
}
