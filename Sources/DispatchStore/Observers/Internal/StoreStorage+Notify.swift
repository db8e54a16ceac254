/// A store's turn to tell, whatever the store's types.
extension StoreStorage: DeliveryTurn {
  /// Does about a notice what the store's lock decided.
  func take(_ turn: NotificationQueue.Turn, on thread: ThreadState) {
    switch turn {
    case .none, .leave:
      break
    case .tell(let notice):
      tell(notice, on: thread)
    case .wait(let gate):
      guard case .tell = gate.wait() else { return }
      yieldPoint(.takeDeliveryTurn, on: thread, identifier)
      tell(withLock { $0.takeOver() }, on: thread)
    }
  }

  /// Tells one notice and those that were left behind it, then passes the turn on.
  private func tell(_ notice: Notice, on thread: ThreadState) {
    thread.turns.append(self)
    yieldPoint(.notify, on: thread, identifier)
    deliver(notice)
    telling: while true {
      yieldPoint(.nextNotice, on: thread, identifier)
      switch withLock({ $0.next() }) {
      case .tell(let left):
        deliver(left)
        if let owner = left.owner { thread.toldOwners.append(owner) }
      case .handOver(let gate):
        gate.open(.tell)
        break telling
      case .done:
        break telling
      }
    }
    thread.turns.removeLast()
    if thread.turns.isEmpty { thread.followToldCommits() }
  }

  private func deliver(_ notice: Notice) {
    if let only = notice.only { return only.hear(notice.change) }
    var isCancelled = false
    for observer in withLock({ $0.observers }) {
      yieldPoint(.callObserver, identifier)
      if observer.firstVersion <= notice.change.version { observer.hear(notice.change) }
      isCancelled = isCancelled || observer.isCancelled
    }
    if isCancelled { forgetCancelledObservers() }
  }

  /// Lets go of them outside the lock: what an observer captures may run code when it goes.
  private func forgetCancelledObservers() {
    withExtendedLifetime(withLock { $0.takeCancelledObservers() }) {}
  }

  /// The thread that has the turn begins to wait inside the library: nobody may wait for it any longer.
  func notifierBeginsToWait() {
    yieldPoint(.beginWait, identifier)
    let (gates, owners) = withLock { $0.tellerBeginsToWait() }
    for gate in gates { gate.open(.leave) }
    for owner in owners { owner.commitTold() }
  }

  func notifierHasWaited() {
    yieldPoint(.endWait, identifier)
    withLock { $0.tellerHasWaited() }
  }
}
