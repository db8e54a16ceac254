import Synchronization

/// The part of a store's state that has none of the user's types: no generic type is looked up for it.
///
/// Also its lock, its observers, and their notification.
@usableFromInline
class StoreStorage: @unchecked Sendable {
  // because every access to what changes holds `lock`
  let identifier: String
  /// At hand, because a global is looked up by a call.
  let threadKey = ThreadState.key
  let lock = Lock()
  // Unchecked, because the lock excludes overlapping accesses, and because the run-time checks of
  // exclusivity would take 17 % of a `.sync` reduction, and 11 % of a commit that is observed.
  /// The number of commits so far.
  @exclusivity(unchecked) @usableFromInline final var version: UInt64 = 0
  /// Whether observers have to be notified of a commit.
  @exclusivity(unchecked) final var isObserved = false
  /// Whether by a notifier, and whether with the model.
  @exclusivity(unchecked) @usableFromInline final var isDelivered = false
  @exclusivity(unchecked) @usableFromInline final var deliversModel = false
  /// Whether observers keep something of a commit while it is made.
  @exclusivity(unchecked) @usableFromInline final var isKept = false
  @exclusivity(unchecked) private final var notifications = NotificationQueue()
  /// What code outside the core keeps with a store, by keys of that code.
  @exclusivity(unchecked) final var attachments: [AnyHashable: AnyObject]?
  /// Whether actions are held back; threads that start them read it without the lock.
  private final let isHoldingBack = Atomic(false)

  init(identifier: String) {
    self.identifier = identifier
  }

  deinit {
    lock.destroy()
  }

  /// Begins the exclusive section for a commit that is delivered to no observer.
  ///
  /// None can be added before the section ends. False, and not begun, where the store is observed
  /// already.
  @usableFromInline
  final func lockIfUnobserved(on thread: ThreadState) -> Bool {
    ExclusiveSection.check(self, "changed", on: thread)
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    if isObserved {
      lock.unlock()
      return false
    }
    thread.exclusive = self
    return true
  }

  /// Ends it, as a commit.
  @usableFromInline
  final func unlockCommitted(on thread: ThreadState) {
    if thread.hasSectionNotes { return unlockWithNotes(isCommit: true, on: thread) }
    version &+= 1
    thread.exclusive = nil
    lock.unlock()
  }

  /// Ends it after a reduction: as a commit, unless the reducer has said that it changed nothing.
  @usableFromInline
  final func unlockReduced(by reducer: ObjectIdentifier, on thread: ThreadState) {
    if thread.hasSectionNotes {
      return unlockWithNotes(isCommit: !thread.isUnchanged(by: reducer), on: thread)
    }
    version &+= 1
    thread.exclusive = nil
    lock.unlock()
  }

  /// Begins the exclusive section to read the model in place.
  @usableFromInline
  final func lockToRead(on thread: ThreadState) {
    ExclusiveSection.check(self, "read", on: thread)
    yieldPoint(.read, on: thread, identifier)
    lock.lock()
    thread.exclusive = self
  }

  /// Ends it without a commit.
  @usableFromInline
  final func unlockUnchanged(on thread: ThreadState) {
    unlockWithNotes(isCommit: false, on: thread)
  }

  /// Ends it where code inside may have left something to be done.
  @inline(never)
  private final func unlockWithNotes(isCommit: Bool, on thread: ThreadState) {
    if isCommit { version &+= 1 }
    thread.exclusive = nil
    lock.unlock()
    thread.endSection()
  }

  /// Begins the exclusive section for a commit that may have to be delivered.
  @usableFromInline
  final func lockToNotify(on thread: ThreadState) {
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    thread.exclusive = self
  }

  final func withLock<Result, Failure: Error>(
    _ body: (inout NotificationQueue) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try withNotifications(body)
  }

  /// The same where the lock is locked already.
  final func withNotifications<Result, Failure: Error>(
    _ body: (inout NotificationQueue) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(&notifications)
  }

  /// After a transition that may have changed whether actions are held back, under the lock; the steps that
  /// start those that no longer are.
  final func takeStarts() -> [@Sendable () -> Void]? {
    let holdsBack = notifications.holdsBack
    if isHoldingBack.load(ordering: .relaxed) != holdsBack {
      isHoldingBack.store(holdsBack, ordering: .relaxed)
    }
    return notifications.takeStarts()
  }

  /// Whether changes of the store were left to its notifier, as far as a thread knows that has no lock.
  final var mayHoldBack: Bool { isHoldingBack.load(ordering: .relaxed) }

  /// Whether an action is not to start in an inline run.
  final func holdsBack(_ run: InlineRun.Address) -> Bool {
    mayHoldBack && run.pointee.isScheduled
  }

  /// Adds or removes observers.
  final func withObservers<Result>(_ body: (inout NotificationQueue) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return withObserversLocked(body)
  }

  /// The same where the lock is locked already.
  final func withObserversLocked<Result>(_ body: (inout NotificationQueue) -> Result) -> Result {
    defer {
      isObserved = notifications.isObserved
      isDelivered = notifications.isDelivered
      deliversModel = notifications.needsModel
      isKept = notifications.isKept
    }
    return body(&notifications)
  }
}
