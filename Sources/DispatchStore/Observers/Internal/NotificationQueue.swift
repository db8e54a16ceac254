/// Which thread notifies a store's observers of which commit: a state machine behind the store's lock.
///
/// The thread that has the delivery turn is the notifier. What is committed meanwhile is pending, in commit
/// order, because it is enqueued before the lock is unlocked that guards the commit: another thread
/// waits for the turn, or leaves its delivery to the notifier. Without the store's types, so that no
/// generic type is looked up here.
struct NotificationQueue {
  private enum State {
    /// No thread has the delivery turn. Can become notifying.
    case idle
    /// The notifier calls observers. Can become idle or blocked.
    case notifying
    /// The notifier waits inside the library, and so no thread may wait for it. Can become notifying.
    case blocked
  }

  /// A delivery behind the notifier's.
  private struct Pending {
    var delivery: Delivery
    /// Where its thread waits for the turn; nil for one that was left to the notifier.
    var gate: Gate<WaitResult>?
    /// Whether the notifier itself has left it.
    var isOwn = false
  }

  /// What a thread may do about its change while another delivery is under way.
  enum Place {
    /// Wait for the turn.
    case waits
    /// Leave the change to the notifier.
    case leaves
    /// The same; it is the notifier.
    case isNotifier
  }

  /// Those that the notifier calls.
  private(set) var observers = ObserverList()
  /// Those that are called elsewhere, in no delivery turn.
  private(set) var observersOutOfTurn = ObserverList()
  private var state = State.idle
  private var pending = FIFO<Pending>()
  /// The changes that were left to the notifier and are not delivered, with the one that it delivers now.
  private var leftCount = 0
  private var isDeliveringLeft = false
  /// Whose end waits for the delivery of the one that it delivers now.
  private var deliveredOwner: (any CommitOwner)?
  /// What starts actions of the store, once none of them is left.
  private var parked = FIFO<@Sendable () -> Void>()

  var isObserved: Bool { isDelivered || !observersOutOfTurn.isEmpty }
  /// Whether a commit takes a delivery turn.
  var isDelivered: Bool { !observers.isEmpty }
  /// Whether its delivery needs the model.
  var needsModel: Bool { observers.modelCount > 0 }
  /// Whether observers keep something of a commit while it is made.
  var isKept: Bool { observers.modelCount < observers.count || !observersOutOfTurn.isEmpty }

  /// What a thread does about a delivery, once the lock is unlocked.
  enum Turn {
    /// No observer is to be notified.
    case none
    /// The thread is the notifier now: it makes this delivery, then calls `next()`.
    case notify(Delivery)
    /// It waits at the gate.
    case wait(Gate<WaitResult>)
    /// The notifier makes the delivery. Before the lock is unlocked, the owner learns that it has to wait
    /// for that.
    case leave(owner: (any CommitOwner)?)
  }

  /// How the wait for the turn ends.
  enum WaitResult: Sendable {
    /// The thread is the notifier now, and calls `takeTurn()`.
    case takeTurn
    /// The notifier is blocked: the delivery is left to it.
    case leave
  }

  /// Whether no thread has the turn, and there are observers to be notified in it.
  var isIdle: Bool {
    if case .idle = state { return isDelivered }
    return false
  }

  /// Whether the thread is the notifier now, since no other one is: it delivers its commit, then calls `next()`.
  mutating func takeTurnIfIdle() -> Bool {
    guard isIdle else { return false }
    state = .notifying
    return true
  }

  /// Whether the turn of a notifier that has delivered its own commit ended here, since nothing is left; else it calls
  /// `next()`.
  mutating func endTurnIfAlone() -> Bool {
    guard pending.isEmpty, parked.isEmpty, !isDeliveringLeft else { return false }
    state = .idle
    return true
  }

  /// The commit that was just made is to be delivered to all observers.
  mutating func enqueue(
    _ change: KeptChange, owner: (any CommitOwner)?, place: (_ left: Int) -> Place
  ) -> Turn {
    guard isDelivered else { return .none }
    return enqueue(Delivery(change: change, only: nil, owner: owner), place: place)
  }

  /// An observer is added, to be notified from the next commit on.
  ///
  /// - Parameter present: The present model where it is to be notified of that first.
  mutating func add(
    _ observer: ObserverRecord, from firstVersion: UInt64, present: KeptChange?,
    place: (_ left: Int) -> Place
  ) -> Turn {
    guard observer.isInTurn else {
      observersOutOfTurn.append(observer, from: firstVersion)
      return .none
    }
    observers.append(observer, from: firstVersion)
    guard let present else { return .none }
    return enqueue(present, only: observer, place: place)
  }

  /// One observer is to be notified of the present model.
  mutating func enqueue(
    _ present: KeptChange, only observer: ObserverRecord, place: (_ left: Int) -> Place
  ) -> Turn {
    enqueue(Delivery(change: present, only: observer, owner: nil), place: place)
  }

  /// The same for one that is not notified of the present model.
  mutating func add(_ observer: ObserverRecord, from firstVersion: UInt64) {
    _ = add(observer, from: firstVersion, present: nil) { _ in .waits }
  }

  private mutating func enqueue(
    _ delivery: Delivery, place: (_ left: Int) -> Place
  ) -> Turn {
    if isPlanted(.notificationOrder) { return .notify(delivery) }
    switch state {
    case .idle:
      state = .notifying
      return .notify(delivery)
    case .notifying:
      let place = place(leftCount)
      if case .waits = place {
        let gate = Gate<WaitResult>()
        pending.append(Pending(delivery: delivery, gate: gate))
        return .wait(gate)
      }
      if isPlanted(.endBeforeDelivery) { fallthrough }
      leave(delivery, place)
      return .leave(owner: delivery.owner)
    case .blocked:
      // What the notifier waits for may itself wait for this dispatch, which therefore ends before the
      // delivery.
      leave(delivery.withoutOwner, .leaves)
      return .leave(owner: nil)
    }
  }

  private mutating func leave(_ delivery: Delivery, _ place: Place) {
    pending.append(Pending(delivery: delivery, gate: nil, isOwn: place == .isNotifier))
    leftCount += 1
  }

  // MARK: Holding actions back

  /// Whether actions are not to start: changes were left, and the notifier comes to deliver them.
  var holdsBack: Bool {
    switch state {
    case .idle: false
    case .notifying: leftCount > 0
    case .blocked: leftCount > 0 && isPlanted(.heldBackByWait)
    }
  }

  /// Keeps what starts an action; false where nothing holds it back.
  mutating func park(_ start: @escaping @Sendable () -> Void) -> Bool {
    guard holdsBack || isPlanted(.heldBackTooLate) else { return false }
    parked.append(start)
    return true
  }

  /// What starts the actions that nothing holds back any longer; nil where there are none.
  ///
  /// Not all at once, since each may leave a change again: each one that starts takes the next.
  mutating func takeStarts(atMost count: Int = 64) -> [@Sendable () -> Void]? {
    if parked.isEmpty || holdsBack { return nil }
    var starts: [@Sendable () -> Void] = []
    while starts.count < count, let start = parked.popFirst() { starts.append(start) }
    return starts
  }

  // MARK: The notifier

  /// Lets observers keep what they get of a commit.
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
      if !observer.isCancelled {
        observer.keep(commit, &kept)
      }
    }
  }

  /// What the notifier does after a delivery.
  enum Next {
    /// It makes this delivery, which was left to it; `isOwn` by itself.
    case notify(Delivery, isOwn: Bool)
    /// It passes the turn to the thread that waits at this gate.
    case handOver(Gate<WaitResult>)
    /// It has delivered enough for others: a job takes over the turn, in this pool.
    case requeue(ConcurrentPool?)
    /// Nothing is pending, and it is the notifier no longer.
    case done
  }

  /// The notifier has made a delivery that was left to it: whose end waited for that, until it began to wait.
  mutating func takeDeliveredOwner() -> (any CommitOwner)? {
    deliveredOwner.take()
  }

  /// - Parameter mayNotify: Whether it goes on with what others have left.
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
    return .notify(pending.popFirst()!.delivery, isOwn: first.isOwn)
  }

  /// The delivery of the thread to which the turn was just passed: the first one pending.
  mutating func takeTurn() -> Delivery {
    pending.popFirst()!.delivery
  }

  /// What no longer waits for a notifier that is blocked.
  struct Unblocked {
    /// Where threads wait for the turn.
    var gates: [Gate<WaitResult>] = []
    /// Whose end waits for deliveries that were left to the notifier.
    var owners: [any CommitOwner] = []
  }

  /// The notifier begins to wait inside the library.
  mutating func notifierBeginsToWait() -> Unblocked {
    state = .blocked
    var (unblocked, left) = (Unblocked(), 0)
    // What its observers wait for may come after the change that they are notified of.
    if let owner = deliveredOwner.take() { unblocked.owners.append(owner) }
    pending.updateAll { pending in
      if let gate = pending.gate {
        unblocked.gates.append(gate)
        left += 1
      } else if let owner = pending.delivery.owner {
        unblocked.owners.append(owner)
      }
      pending = Pending(delivery: pending.delivery.withoutOwner, gate: nil)
    }
    leftCount += left
    return unblocked
  }

  /// That wait has ended.
  mutating func notifierHasWaited() {
    state = .notifying
  }

  /// Removes an observer that was cancelled.
  mutating func remove(_ observer: ObserverRecord) {
    if observer.isInTurn {
      observers.remove(observer)
    } else {
      observersOutOfTurn.remove(observer)
    }
  }

  mutating func takeCancelledObservers() -> [ObserverRecord] {
    observers.takeCancelled() + observersOutOfTurn.takeCancelled()
  }
}

/// What observers are to be notified of: a commit, or for one of them the model that it began with.
struct Delivery {
  let change: KeptChange
  /// The one observer that is notified; nil for all.
  let only: ObserverRecord?
  /// The store run that ends only after the delivery.
  let owner: (any CommitOwner)?

  var withoutOwner: Delivery { Delivery(change: change, only: only, owner: nil) }
}
