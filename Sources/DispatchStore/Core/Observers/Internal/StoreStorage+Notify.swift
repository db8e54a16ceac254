import Dispatch

/// The delivery turn of a store, for the thread that waits for it or has it.
extension StoreStorage: DeliveryTurn {
  /// Carries out a decision that was made under the store's lock.
  ///
  /// - Parameters:
  ///   - kept: The observers' work for a commit whose exclusive section has ended.
  ///   - isNoted: Whether the thread is noted as the store's notifier already.
  func carryOut(
    _ turn: NotificationQueue.Turn, _ kept: KeptCommit = KeptCommit(), isNoted: Bool = false,
    on thread: ThreadState
  ) {
    switch turn {
    case .none, .leave:
      endSection(kept, on: thread)
    case .notify(let delivery):
      notify(of: delivery.change, only: delivery.only, kept, isNoted: isNoted, on: thread)
    case .wait(let gate):
      var kept = kept
      // Code of the program waits for the turn, since its commits would wait behind this one.
      kept.scheduleBeforeTurn()
      carryOut(takeTurn(at: gate, on: thread), kept, on: thread)
    }
  }

  /// Waits at a gate for the delivery turn.
  ///
  /// - Returns: `notify`, or `none` if the delivery was left to the notifier.
  func takeTurn(
    at gate: Eventual<NotificationQueue.WaitResult>, on thread: ThreadState
  ) -> NotificationQueue.Turn {
    let wait = BlockingRegion(on: thread)
    let result = gate.wait()
    wait.end()
    guard case .takeTurn = result else { return .none }
    yieldPoint(.takeDeliveryTurn, on: thread, identifier)
    return .notify(withLock { $0.takeTurn() })
  }

  /// Accepts the dispatches made in the section, then schedules the calls of observers on queues and streams.
  private func endSection(_ kept: KeptCommit, on thread: ThreadState) {
    // Before code of the program, which may wait until the commit is saved.
    kept.keeper?.kept()
    thread.endSection()
    scheduleCalls(kept)
  }

  /// Makes or enqueues the calls of observers that have kept a part, outside of the lock.
  func scheduleCalls(_ kept: KeptCommit) {
    if let due = kept.due { for observer in due { observer.scheduleCall() } }
  }

  /// Ends the exclusive section of a commit, and notifies the observers of the commit.
  @usableFromInline
  func unlockAndNotify(
    _ change: KeptChange?, _ kept: KeptCommit, for owner: (any CommitOwner)?,
    on thread: ThreadState
  ) {
    let former = noteObservedCommit()
    defer { withExtendedLifetime(former) {} }
    // Before the lock is unlocked, so that deliveries follow commit order.
    let turn = decideTurn(change, for: owner, on: thread)
    thread.exclusive = nil
    lock.unlock()
    carryOut(turn, kept, on: thread)
    waitForObservers(kept, on: thread)
    yieldPoint(.goOn, on: thread, identifier)
  }

  /// Decides who delivers a commit; called under the lock of the commit.
  func decideTurn(
    _ change: KeptChange?, for owner: (any CommitOwner)?, on thread: ThreadState
  ) -> NotificationQueue.Turn {
    guard let change else { return .none }
    let turn = withNotifications {
      $0.enqueue(Delivery(change: change, only: nil, owner: owner)) {
        self.place(of: thread, for: owner, $0)
      }
    }
    if case .leave(let owner) = turn {
      // Before the lock is released, because the notifier may make the delivery at once.
      owner?.commitDeferred()
      updateHoldingBack()
    }
    return turn
  }

  /// Waits until lagging observers have caught up with the commit.
  ///
  /// All other observers were notified before.
  func waitForObservers(_ kept: KeptCommit, on thread: ThreadState) {
    guard let waits = kept.waits else { return }
    let region = BlockingRegion(on: thread)
    for gate in waits { gate.wait() }
    region.end()
  }

  /// Adds an observer, which is notified from the next commit on, and ends the exclusive section.
  ///
  /// - Parameter present: The current model, if the observer is to be notified of it first.
  func unlockAdding(
    _ observer: ObserverRecord, _ present: KeptChange?, on thread: ThreadState
  ) -> NotificationQueue.Turn {
    unlockObserving(on: thread) { notifications, place in
      notifications.add(observer, from: version &+ 1)
      guard let present, observer.isInTurn else { return .none }
      return notifications.enqueue(
        Delivery(change: present, only: observer, owner: nil), place: place)
    }
  }

  /// Adds observers, or enqueues the current model for one, and ends the exclusive section.
  func unlockObserving(
    on thread: ThreadState,
    _ body: (
      inout NotificationQueue, _ place: (_ left: Int) -> NotificationQueue.Place
    ) -> NotificationQueue.Turn
  ) -> NotificationQueue.Turn {
    // Dispatches made in the section are accepted later, in `carryOut`.
    defer {
      thread.exclusive = nil
      lock.unlock()
    }
    return withObserversLocked { body(&$0) { self.place(of: thread, for: nil, $0) } }
  }

  /// Lets the keeper and observers keep their part of a commit, in its exclusive section.
  ///
  /// - Parameters:
  ///   - isDelivered: Whether observers are to be notified of the commit; the keeper and tapes read it in any case.
  ///   - isTogether: Whether it is a part of an atomic action's change; the keeper keeps it later, with the others.
  @usableFromInline
  func keep(
    model: UnsafeRawPointer, action: UnsafeRawPointer, of owner: (any CommitOwner)?,
    _ dispatchID: DispatchID?, _ isDelivered: Bool, isTogether: Bool = false
  ) -> KeptCommit {
    let commit = CommitInProgress(
      model: model, action: action, version: version &+ 1, owner: owner, dispatchID: dispatchID,
      isTogether: isTogether, isHidden: !isDelivered)
    var kept = withNotifications { $0.keep(commit) }
    guard let keeper else { return kept }
    keeper.read(commit)
    if isTogether || !keeper.keepRead(together: [keeper], with: []) { return kept }
    // A writer of its own would only be in the way of a thread that saves the commit next. If observers are called or
    // awaited before, they may wait until the commit is saved.
    let isSavedNext = !(isDelivered && self.isDelivered) && kept.needsNoTurn
    if !isSavedNext || owner?.savesNext(self) != true { kept.keeper = keeper }
    return kept
  }

  /// The maximum number of undelivered changes of one operation, and of deliveries that a notifier makes for others.
  private static let leftLimit = 64
  /// The maximum number of undelivered changes of a store.
  ///
  /// Beyond it, committing threads wait too.
  private static let leftLimitOfStore = 1_024

  /// Decides whether a thread waits for the delivery turn or leaves its change to the notifier.
  ///
  /// - Parameter left: The number of undelivered changes.
  private func place(
    of thread: ThreadState, for owner: (any CommitOwner)?, _ left: Int
  ) -> NotificationQueue.Place {
    guard thread.turns.isEmpty else {
      let isNotifier = thread.turns.contains { $0._withUnsafeGuaranteedRef { $0 === self } }
      return isNotifier ? .isNotifier : .leaves
    }
    // The owner also counts changes that streams hold back, so not it alone decides.
    let waits =
      DispatchContext.mayBlock(on: thread) || left >= Self.leftLimitOfStore
      || left >= Self.leftLimit && (owner?.undeliveredCount ?? left) >= Self.leftLimit
    return waits ? .waits : .leaves
  }

  /// Parks a step that starts an action until all left changes are delivered.
  ///
  /// Returns false if it may start now.
  func park(_ start: @escaping NotificationQueue.ParkedStart) -> Bool {
    yieldPoint(.parkStart, identifier)
    return withLock { $0.park(start) }
  }

  /// Starts the next parked action that was not cancelled.
  ///
  /// Called when a parked action starts.
  func startNextParked() {
    while let starts = withLock({ $0.takeStarts(atMost: 1) }) {
      if starts[0]() { return }
    }
  }

  /// Starts parked actions, and another one for each that was cancelled.
  private func start(_ starts: [NotificationQueue.ParkedStart]?) {
    guard let starts else { return }
    for start in starts where !start() { startNextParked() }
  }

  /// Ends the exclusive section that `lockToDeliver` has begun, and notifies the observers on this thread.
  ///
  /// The change stays on the stack, since no other thread delivers it.
  ///
  /// - Parameter change: The address of the `ObservedModel`.
  @usableFromInline
  func unlockAndDeliver(
    _ change: UnsafeRawPointer, _ kept: KeptCommit, on thread: ThreadState
  ) {
    let former = noteObservedCommit()
    defer { withExtendedLifetime(former) {} }
    let change = ObservedChange(version: version, at: change)
    let read = withNotifications { notifications in
      notifications.takeFreeTurn()
      return notifications.observers.slots
    }
    thread.exclusive = nil
    lock.unlock()
    thread.turns.append(.passUnretained(self))
    endSection(kept, on: thread)
    yieldPoint(.notify, on: thread, identifier)
    deliver(change, to: read, on: thread)
    finishNotifying(after: read, on: thread)
    yieldPoint(.goOn, on: thread, identifier)
  }

  /// Makes one delivery and those that were left behind it, then passes the turn on.
  ///
  /// - Parameter only: The only observer to notify, or nil for all.
  private func notify(
    of change: KeptChange, only: ObserverRecord? = nil, _ kept: KeptCommit,
    isNoted: Bool = false, on thread: ThreadState
  ) {
    if !isNoted { thread.turns.append(.passUnretained(self)) }
    // After the turn is noted, so that hooks' commits to this store are left to this thread, which can't wait for
    // itself.
    endSection(kept, on: thread)
    yieldPoint(.notify, on: thread, identifier)
    finishNotifying(after: deliver(change, only: only), on: thread)
  }

  /// Makes the deliveries that were left, then passes the turn on.
  private func finishNotifying(after read: consuming ReadList?, on thread: ThreadState) {
    yieldPoint(.nextNotice, on: thread, identifier)
    if withLock({ $0.endTurnIfAlone() }) {
      withExtendedLifetime(read) {}
      thread.turns.removeLast()
    } else {
      let last = deliverLeft(after: read, on: thread)
      thread.turns.removeLast()
      if case .requeue(let pool) = last { continueNotifying(pool ?? thread.worker?.pool) }
    }
    if thread.turns.isEmpty { thread.resumeDeliveredOwners() }
  }

  /// Makes a batch of the deliveries that were left, and returns the step that ends this thread's turn.
  ///
  /// Another thread makes the rest.
  private func deliverLeft(
    after read: consuming ReadList?, on thread: ThreadState
  ) -> NotificationQueue.Next {
    var read = read
    var count = 0
    while true {
      yieldPoint(.nextNotice, on: thread, identifier)
      let (next, starts) = withLock { ($0.next(mayNotify: count < Self.leftLimit), takeStarts()) }
      withExtendedLifetime(read) {}
      read = nil
      start(starts)
      switch next {
      case .notify(let left, let isOwn):
        read = deliver(left, isOwn: isOwn)
        if !isOwn { count += 1 }
        resumeDeliveredOwner(on: thread)
      case .handOver(let gate):
        gate.set(.takeTurn)
        return next
      case .requeue, .done:
        return next
      }
    }
  }

  /// Calls observers in the context of the dispatch that made the change, not of the one that delivers it.
  private func deliver(_ left: Delivery, isOwn: Bool) -> ReadList? {
    guard !isOwn, let owner = left.owner, let dispatch = owner.waiting else {
      return deliver(left.change, only: left.only)
    }
    var read: ReadList?
    dispatch.perform(owner as? StoreRun, isLeft: true) {
      read = deliver(left.change, only: left.only)
    }
    return read
  }

  /// Resumes the owner of the change just delivered.
  ///
  /// If the notifier has waited meanwhile, the owner is already resumed.
  private func resumeDeliveredOwner(on thread: ThreadState) {
    guard let owner = withLock({ $0.takeDeliveredOwner() }) else { return }
    // The next step of a `.sync` dispatch may run on this thread, so it must wait until the thread is no notifier.
    if owner.waiting?.isSynchronous == true {
      thread.fields.pointee.deliveredOwners.append(owner)
    } else {
      owner.commitDelivered()
    }
  }

  /// Enqueues a job that takes over the turn.
  ///
  /// No thread has the turn meanwhile.
  private func continueNotifying(_ pool: ConcurrentPool?) {
    let job: @Sendable () -> Void = {
      let thread = ThreadState.current
      thread.turns.append(.passUnretained(self))
      self.finishNotifying(after: nil, on: thread)
    }
    if let pool { return pool.resume(job) }
    if let world = ThreadState.current.simulated?.world {
      return world.run(.substitute, job)
    }
    // A queue of its own gets a thread at once.
    DispatchQueue(label: "DispatchStore.notifier").async(execute: job)
  }

  /// A copy of the observers' list that the notifier has read.
  ///
  /// Released only after this thread has locked the store again. A thread that finds no other reference changes the
  /// list in place, and the lock orders that after these reads.
  private typealias ReadList = [ObserverList.Registration?]

  private func deliver(_ change: KeptChange, only: ObserverRecord?) -> ReadList? {
    let thread = ThreadState.current
    if let only {
      let former = thread.beginNotice()
      change.withObserved(only.notify)
      thread.endNotice(former)
      return nil
    }
    let read = withLock { $0.observers.slots }
    change.withObserved { deliver($0, to: read, on: thread) }
    return read
  }

  private func deliver(_ change: ObservedChange, to read: ReadList, on thread: ThreadState) {
    let former = thread.beginNotice()
    defer { thread.endNotice(former) }
    ObserverList.forEach(in: read) { observer, firstVersion in
      yieldPoint(.callObserver, identifier)
      if firstVersion <= change.version { observer.notify(of: change) }
    }
  }

  /// Removes a cancelled observer.
  ///
  /// The caller releases it outside the lock, because its captures may run user code.
  func remove(_ observer: ObserverRecord) {
    withObservers { $0.remove(observer) }
  }

  /// Passes the last model to observers, and ends the streams, since the store goes.
  ///
  /// The storage itself may stay: a change of a whole model keeps it until its value is read, a queue until its observer
  /// is called, and a group as long as it exists.
  func storeGoes() {
    let streams: [any FollowingStream] = withLock { notifications in
      let last = CommitInProgress(
        model: modelAddress, action: modelAddress, version: version, owner: nil)
      ObserverList.forEach(in: notifications.observersOutOfTurn.slots) { observer, _ in
        observer.storeGoes(last)
      }
      return attachment(StoreStreams.self)?._withUnsafeGuaranteedRef { $0.all } ?? []
    }
    for stream in streams { stream.end() }
  }

  /// Releases the threads that wait for the turn, because the notifier begins to wait inside the library.
  func notifierBeginsToWait() {
    yieldPoint(.beginWait, identifier)
    let (unblocked, starts) = withLock { ($0.notifierBeginsToWait(), takeStarts()) }
    for gate in unblocked.gates { gate.set(.leave) }
    start(starts)
    let thread = ThreadState.current
    for owner in unblocked.owners { thread.resumeElsewhere(owner) }
  }

  func notifierHasWaited() {
    yieldPoint(.endWait, identifier)
    withLock { notifications in
      notifications.notifierHasWaited()
      updateHoldingBack()
    }
  }
}
