import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The part of a store's state that has none of the user's types: no generic type is looked up for it.
///
/// Also its lock, its observers, and their notification.
@usableFromInline
class StoreStorage: @unchecked Sendable {
  // because every access to what changes holds `lock`
  // First what each reduction reads and writes, so that it comes with one cache line.
  let lock: Lock
  /// The address of the model, which is in the same memory as the lock.
  @usableFromInline final let modelAddress: UnsafeMutableRawPointer
  // Unchecked, because the lock excludes overlapping accesses, and because the run-time checks of
  // exclusivity would take 17 % of a `.sync` reduction, and 11 % of a commit that is observed.
  /// The number of commits so far.
  @exclusivity(unchecked) @usableFromInline final var version: UInt64 = 0
  /// Whether a commit does more than change the model: observers have to be notified, or it is published.
  ///
  /// Decided under the lock; what a thread reads before, to lock once instead of twice, may be out of date.
  final var isObserved: Bool { observed.load(ordering: .relaxed) }
  private let observed: Atomic<Bool>
  /// At hand, because a global is looked up by a call.
  let threadKey = ThreadState.key
  let identifier: String
  /// Whether by a notifier, and whether with the model.
  @exclusivity(unchecked) @usableFromInline final var isDelivered = false
  @exclusivity(unchecked) @usableFromInline final var deliversModel = false
  /// Whether observers keep something of a commit while it is made.
  @exclusivity(unchecked) @usableFromInline final var isKept = false
  /// What other parts of the library keep with the store.
  @exclusivity(unchecked) final var attachments: Unmanaged<StoreAttachment>?
  @exclusivity(unchecked) private final var notifications = NotificationQueue()
  /// Whether actions are held back; threads that start them read it without the lock.
  private final let isHoldingBack = Atomic(false)
  /// Whether observers that were cancelled inside an exclusive section are still in their lists.
  private final let hasCancelled = Atomic(false)
  /// The address of its `ReadTracker`; zero before code is tracked that reads it.
  final let tracker = Atomic<UInt>(0)

  /// Whether each commit publishes its model.
  private let publishes: Bool

  /// - Parameters:
  ///   - modelSize: In bytes.
  ///   - modelAlignment: Likewise.
  init(
    identifier: String, publishes: Bool = false, modelSize: Int = 0, modelAlignment: Int = 1
  ) {
    self.identifier = identifier
    self.publishes = publishes
    observed = Atomic(publishes)
    let lockSize = MemoryLayout<pthread_mutex_t>.size
    let offset = (lockSize + modelAlignment - 1) / modelAlignment * modelAlignment
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: offset + modelSize, alignment: max(Self.cacheLine, modelAlignment))
    lock = Lock(at: memory.bindMemory(to: pthread_mutex_t.self, capacity: 1))
    modelAddress = memory + offset
  }

  /// In bytes; a small model is in that of its lock.
  private static let cacheLine = 64

  /// Publishes the model of a commit, under the lock; the older ones, to be released once that is unlocked: their
  /// deinitialisers are code of the program.
  func publish() -> [any Sendable] { [] }

  /// Counts a commit of a store that is observed, or published, under the lock.
  final func noteObservedCommit() -> [any Sendable] {
    version &+= 1
    return publishes ? publish() : []
  }

  /// Of a storage that goes: no other code has it.
  final func forEachObserverOutOfTurn(_ body: (ObserverRecord) -> Void) {
    ObserverList.forEach(in: notifications.observersOutOfTurn.slots) { observer, _ in body(observer)
    }
  }

  deinit {
    attachments?.release()
    releaseTracker()
    lock.destroy()
  }

  /// Begins the exclusive section for a commit that is delivered to no observer.
  ///
  /// None can be added before the section ends. False, and not begun, where the store is observed
  /// already.
  @usableFromInline
  final func lockIfUnobserved(on thread: ThreadState) -> Bool {
    ExclusiveSection.check(self, "changed", on: thread)
    if isObserved { return false }
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

  /// The same where this thread is to deliver the commit itself, and observers need nothing of it but the change; false,
  /// and not begun, where another thread has the delivery turn, or observers keep something.
  ///
  /// The turn stays free until the section ends, since no thread takes it without the lock.
  @usableFromInline
  final func lockToDeliver(on thread: ThreadState) -> Bool {
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    guard !isKept, notifications.isIdle else {
      lock.unlock()
      return false
    }
    thread.exclusive = self
    return true
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

  /// An observer was cancelled inside an exclusive section: the next delivery removes it.
  final func noteCancelledObserver() {
    hasCancelled.store(true, ordering: .releasing)
  }

  /// Whether there are such; the caller removes them.
  final func takeCancelledNote() -> Bool {
    hasCancelled.load(ordering: .relaxed)
      && hasCancelled.exchange(false, ordering: .acquiringAndReleasing)
  }

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
      observed.store(publishes || notifications.isObserved, ordering: .relaxed)
      isDelivered = notifications.isDelivered
      deliversModel = notifications.needsModel
      isKept = notifications.isKept
    }
    return body(&notifications)
  }
}
