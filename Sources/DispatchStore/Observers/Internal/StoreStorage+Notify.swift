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
    withLock { $0.remove(observer) }
  }

  /// Removes those that were cancelled inside an exclusive section.
  private func releaseCancelledObservers() {
    withExtendedLifetime(withLock { $0.takeCancelledObservers() }) {}
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
