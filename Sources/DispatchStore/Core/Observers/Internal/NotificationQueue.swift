/// The order in which threads notify a store's observers: a state machine behind the store's lock.
///
/// The thread with the delivery turn is the notifier. Commits made meanwhile are pending. They are in commit order,
/// because each is enqueued before the lock of its commit is released. Another thread waits for the turn, or leaves
/// its delivery to the notifier. Has none of the store's types, to save the lookup of generic types.
struct NotificationQueue {
  private enum State {
    /// The delivery turn is free.
    ///
    /// Can become notifying.
    case idle
    /// The turn is taken: the notifier calls observers, or a waiting thread or a job is about to take over from it.
    ///
    /// Can become idle or blocked.
    case notifying
    /// The notifier waits inside the library, so no thread may wait for the notifier.
    ///
    /// Can become notifying.
    case blocked
  }

  /// A delivery behind the notifier's.
  private struct Pending {
    var delivery: Delivery
    /// The gate at which its thread waits for the turn, or nil if the delivery was left to the notifier.
    var gate: Eventual<WaitResult>?
    /// Whether the notifier itself has left it.
    var isOwn = false
  }

  /// The options of a thread with a change while another delivery is in progress.
  enum Place {
    /// The thread waits for the turn.
    case waits
    /// The thread leaves the change to the notifier.
    case leaves
    /// The thread is the notifier, and leaves the change to itself.
    case isNotifier
  }

  /// The observers that the notifier calls.
  private(set) var observers = ObserverList()
  /// The observers that are called elsewhere, without a delivery turn.
  private(set) var observersOutOfTurn = ObserverList()
  private var state = State.idle
  private var pending = FIFO<Pending>()
  /// The number of the first pending deliveries that the notifier has released when it waited: nothing waits for them.
  private var releasedCount = 0
  /// The number of changes that were left to the notifier and are not delivered, including the one in delivery.
  private var leftCount = 0
  private var isDeliveringLeft = false
  /// The owner whose end waits for the delivery in progress.
  private var deliveredOwner: (any CommitOwner)?
  /// Starts a parked action of the store; returns false if that was cancelled meanwhile.
  typealias ParkedStart = @Sendable () -> Bool
  /// The parked steps, until no changes are left.
  private var parked = FIFO<ParkedStart>()

  var isObserved: Bool { isDelivered || !observersOutOfTurn.isEmpty }
  /// Whether a commit takes a delivery turn.
  var isDelivered: Bool { !observers.isEmpty }
  /// Whether the delivery of a commit needs the model.
  var needsModel: Bool { observers.modelCount > 0 }
  /// Whether observers keep a part of a commit in its exclusive section.
  var isKept: Bool { observers.modelCount < observers.count || !observersOutOfTurn.isEmpty }
  /// Whether one of these needs the owner of a commit.
  var needsOwner: Bool {
    observers.modelCount < observers.count || observersOutOfTurn.ownerCount > 0
  }

  /// A thread's task after it has enqueued a delivery, once the lock is released.
  enum Turn {
    /// There is no observer to notify.
    case none
    /// The thread is the notifier now: it makes this delivery, then calls `endTurnIfAlone()`.
    case notify(Delivery)
    /// The thread waits at the gate.
    case wait(Eventual<WaitResult>)
    /// The notifier makes the delivery.
    ///
    /// Before the lock is released, the owner is told to wait for it.
    case leave(owner: (any CommitOwner)?)
  }

  /// The end of a wait for the turn.
  enum WaitResult: Sendable {
    /// The thread is the notifier now, and calls `takeTurn()`.
    case takeTurn
    /// The notifier is blocked: the delivery is left to it.
    case leave
  }

  /// Whether no thread has the turn.
  var isIdle: Bool { if case .idle = state { true } else { false } }

  /// Makes the thread the notifier, since there is none: it delivers its commit, then calls
  /// `endTurnIfAlone()`.
  mutating func takeFreeTurn() { state = .notifying }

  /// Ends the turn of a notifier that has delivered its own commit, if nothing is left.
  ///
  /// Otherwise returns false.
  ///
  /// After false, the notifier calls `next()`.
  mutating func endTurnIfAlone() -> Bool {
    guard pending.isEmpty, parked.isEmpty, !isDeliveringLeft else { return false }
    state = .idle
    return true
  }

  /// Adds an observer, which is notified from a version on.
  mutating func add(_ observer: ObserverRecord, from firstVersion: UInt64) {
    if observer.isInTurn {
      observers.append(observer, from: firstVersion)
    } else {
      observersOutOfTurn.append(observer, from: firstVersion)
    }
  }

  /// Enqueues the delivery of a new commit, or of the current model to one observer.
  mutating func enqueue(_ delivery: Delivery, place: (_ left: Int) -> Place) -> Turn {
    guard isDelivered else { return .none }
    if isPlanted(.notificationOrder) { return .notify(delivery) }
    switch state {
    case .idle:
      state = .notifying
      return .notify(delivery)
    case .notifying:
      let place = place(leftCount)
      if case .waits = place {
        let gate = Eventual<WaitResult>()
        pending.append(Pending(delivery: delivery, gate: gate))
        return .wait(gate)
      }
      if isPlanted(.endBeforeDelivery) { fallthrough }
      leave(delivery, place)
      return .leave(owner: delivery.owner)
    case .blocked:
      // The notifier may wait for a dispatch that waits for this one, so this one must end before the delivery.
      leave(delivery.withoutOwner, .leaves)
      return .leave(owner: nil)
    }
  }

  private mutating func leave(_ delivery: Delivery, _ place: Place) {
    pending.append(Pending(delivery: delivery, gate: nil, isOwn: place == .isNotifier))
    leftCount += 1
  }

  // MARK: Holding actions back

  /// Whether actions must not start, because changes were left that the notifier will deliver.
  var holdsBack: Bool {
    switch state {
    case .idle: false
    case .notifying: leftCount > 0
    case .blocked: leftCount > 0 && isPlanted(.heldBackByWait)
    }
  }

  /// Parks a step that starts an action.
  ///
  /// Returns false if no changes hold it back.
  mutating func park(_ start: @escaping ParkedStart) -> Bool {
    guard holdsBack || isPlanted(.heldBackTooLate) else { return false }
    parked.append(start)
    return true
  }

  /// Takes the parked steps that may start now, or nil if there are none.
  ///
  /// Not all at once, since each may leave a change again: each one that starts takes the next.
  mutating func takeStarts(atMost count: Int = 64) -> [ParkedStart]? {
    if parked.isEmpty || holdsBack { return nil }
    var starts: [ParkedStart] = []
    while starts.count < count, let start = parked.popFirst() { starts.append(start) }
    return starts
  }

  // MARK: The notifier

  /// Lets observers keep their part of a commit.
  func keep(_ commit: CommitInProgress) -> KeptCommit {
    var kept = KeptCommit()
    if observers.modelCount < observers.count { keep(commit, in: observers, &kept) }
    keep(commit, in: observersOutOfTurn, &kept)
    return kept
  }

  private func keep(
    _ commit: CommitInProgress, in list: ObserverList, _ kept: inout KeptCommit
  ) {
    for case let registration? in list.slots {
      let observer = registration.observer
      if !observer.isCancelled, !commit.isHidden || observer.keepsHidden {
        observer.keep(commit, &kept)
      }
    }
  }

  /// The notifier's next step after a delivery.
  enum Next {
    /// Make this delivery, which was left to the notifier.
    ///
    /// With `isOwn`, the notifier itself left it.
    case notify(Delivery, isOwn: Bool)
    /// Pass the turn to the thread that waits at this gate.
    case handOver(Eventual<WaitResult>)
    /// Stop, after enough deliveries for others.
    ///
    /// A job in this pool takes over the turn.
    case requeue(ConcurrentPool?)
    /// Stop: nothing is pending, and the thread is no longer the notifier.
    case done
  }

  /// Takes the owner that waits for the delivery just made.
  ///
  /// Nil if the notifier has waited since.
  mutating func takeDeliveredOwner() -> (any CommitOwner)? {
    deliveredOwner.take()
  }

  /// Returns the notifier's next step.
  ///
  /// - Parameter mayNotify: Whether it may go on with deliveries that others have left.
  mutating func next(mayNotify: Bool = true) -> Next {
    if isDeliveringLeft { leftCount -= 1 }
    isDeliveringLeft = false
    guard let first = pending.first else {
      state = .idle
      return .done
    }
    if let gate = first.gate { return .handOver(gate) }
    guard mayNotify || first.isOwn else {
      return .requeue(first.delivery.owner?.waiting?.scheduler.workers)
    }
    isDeliveringLeft = true
    deliveredOwner = first.delivery.owner
    return .notify(popFirst(), isOwn: first.isOwn)
  }

  /// Takes the first pending delivery.
  ///
  /// Called by the thread to which the turn was just passed.
  mutating func takeTurn() -> Delivery { popFirst() }

  private mutating func popFirst() -> Delivery {
    releasedCount = max(0, releasedCount - 1)
    return pending.popFirst()!.delivery
  }

  /// The waiters to resume because the notifier is blocked.
  struct Unblocked {
    /// The gates at which threads wait for the turn.
    var gates: [Eventual<WaitResult>] = []
    /// The owners whose end waits for deliveries left to the notifier.
    var owners: [any CommitOwner] = []
  }

  /// Notes that the notifier begins to wait inside the library.
  mutating func notifierBeginsToWait() -> Unblocked {
    state = .blocked
    var (unblocked, left) = (Unblocked(), 0)
    // The notifier's observers may wait for a dispatch behind the owner of the change in delivery.
    if let owner = deliveredOwner.take() { unblocked.owners.append(owner) }
    pending.update(behind: releasedCount) { pending in
      if let gate = pending.gate {
        unblocked.gates.append(gate)
        left += 1
      } else if let owner = pending.delivery.owner {
        unblocked.owners.append(owner)
      }
      pending = Pending(delivery: pending.delivery.withoutOwner, gate: nil)
    }
    releasedCount = pending.count
    leftCount += left
    return unblocked
  }

  /// Notes that the notifier's wait has ended.
  mutating func notifierHasWaited() {
    state = .notifying
  }

  /// Removes a cancelled observer.
  mutating func remove(_ observer: ObserverRecord) {
    if observer.isInTurn {
      observers.remove(observer)
    } else {
      observersOutOfTurn.remove(observer)
    }
  }
}

/// A change for observers: a commit, or for one observer the model that it began with.
struct Delivery {
  let change: KeptChange
  /// The only observer to notify, or nil for all.
  let only: ObserverRecord?
  /// The store run that ends only after the delivery.
  let owner: (any CommitOwner)?

  var withoutOwner: Delivery { Delivery(change: change, only: only, owner: nil) }
}
