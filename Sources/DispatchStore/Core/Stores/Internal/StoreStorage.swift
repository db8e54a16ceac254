import Foundation
import Synchronization

/// The untyped part of a store's state: lock, observers and notification.
///
/// It needs no lookup of generic types.
@usableFromInline
class StoreStorage: @unchecked Sendable {
  // because every access to variable state holds `lock`
  // The fields that each reduction reads and writes come first, to share one cache line.
  let lock: Lock
  /// The address of the model, in the same allocation as the lock.
  @usableFromInline final let modelAddress: UnsafeMutableRawPointer
  // Unchecked, because the lock excludes overlapping accesses. Run-time checks would take 17 % of a `.sync`
  // reduction, and 11 % of an observed commit.
  /// The number of commits so far.
  @exclusivity(unchecked) @usableFromInline final var version: UInt64 = 0
  /// Whether a commit does more than change the model: it notifies observers, or publishes the model.
  ///
  /// Decided under the lock. A thread reads it before, to lock once instead of twice, and the value may be out of
  /// date.
  final var isObserved: Bool { observed.load(ordering: .relaxed) }
  private let observed: Atomic<Bool>
  /// A local copy, because access to a global is a call.
  let threadKey = ThreadState.key
  let identifier: String
  /// The place in the global order in which several stores are locked: that in which they were made.
  ///
  /// Not an address, because a simulation would then depend on the allocator.
  final let lockRank: UInt64
  private static let lastRank = Atomic<UInt64>(0)
  /// Whether a notifier delivers commits, and whether with the model.
  ///
  /// Called under the lock.
  @usableFromInline final var isDelivered: Bool { notifications.isDelivered }
  @usableFromInline final var deliversModel: Bool { notifications.needsModel }
  /// Whether the keeper or observers keep a part of a commit in its exclusive section.
  ///
  /// Called under the lock.
  @usableFromInline final var isKept: Bool { notifications.isKept || keeper != nil }
  /// Objects that other parts of the library keep with the store.
  @exclusivity(unchecked) final var attachments: Unmanaged<StoreAttachment>?
  @exclusivity(unchecked) private final var notifications = NotificationQueue()
  /// The keeper of all commits, for a store that is persisted.
  @exclusivity(unchecked) private(set) final var keeper: CommitKeeper?
  /// Whether actions are held back.
  ///
  /// Threads that start actions read it without the lock.
  private final let isHoldingBack = Atomic(false)
  /// The address of the store's `ReadTracker`.
  ///
  /// Zero before the first tracked read.
  final let tracker = Atomic<UInt>(0)

  /// Whether each commit publishes its model.
  private let publishes: Bool
  /// The means to undo changes of the model, once an atomic action has needed it.
  @exclusivity(unchecked) private final var madeUndo: ModelUndo?
  private let makeUndo: (@Sendable () -> ModelUndo)?

  /// The means to undo changes of the model.
  ///
  /// Called under the lock.
  final var undo: ModelUndo {
    get {
      if let madeUndo { return madeUndo }
      guard let makeUndo else { fatalError("A storage without a model changes nothing.") }
      let undo = makeUndo()
      madeUndo = undo
      return undo
    }
    set { madeUndo = newValue }
  }

  /// Allocates the lock and the memory of the model together.
  ///
  /// - Parameters:
  ///   - modelSize: The model's size in bytes.
  ///   - modelAlignment: The model's alignment in bytes.
  init(
    identifier: String, publishes: Bool = false, modelSize: Int = 0, modelAlignment: Int = 1,
    makeUndo: (@Sendable () -> ModelUndo)? = nil
  ) {
    self.identifier = identifier
    lockRank = Self.lastRank.add(1, ordering: .relaxed).newValue
    self.makeUndo = makeUndo
    self.publishes = publishes
    observed = Atomic(publishes)
    let lockSize = MemoryLayout<pthread_mutex_t>.size
    let offset = (lockSize + modelAlignment - 1) / modelAlignment * modelAlignment
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: offset + modelSize, alignment: max(Self.cacheLine, modelAlignment))
    lock = Lock(at: memory.bindMemory(to: pthread_mutex_t.self, capacity: 1))
    modelAddress = memory + offset
  }

  /// The size of a cache line in bytes.
  ///
  /// A small model shares the one of its lock.
  private static let cacheLine = 64

  /// Publishes the model of a commit.
  ///
  /// Called under the lock. Returns the replaced models, to be released after the lock: their deinitialisers are user
  /// code.
  func publish() -> [any Sendable] { [] }

  /// Counts a commit of a store that is observed or published.
  ///
  /// Called under the lock. Returns objects to be released after the lock.
  final func noteObservedCommit() -> [any Sendable] {
    version &+= 1
    return publishes ? publish() : []
  }

  deinit {
    attachments?.release()
    releaseTracker()
    lock.destroy()
  }

  /// Begins the exclusive section for a commit without observers.
  ///
  /// Returns false, and begins nothing, if the store is observed.
  ///
  /// No observer can be added before the section ends.
  @usableFromInline
  final func lockIfUnobserved(on thread: ThreadState) -> Bool {
    if thread.isInSection { return AtomicStep.beginReduction(of: self, on: thread) }
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

  /// Ends the exclusive section as a commit, unless the reducer that was called has declared that it changed nothing.
  @usableFromInline
  final func unlockCommitted(by reducer: ObjectIdentifier?, on thread: ThreadState) {
    if thread.hasSectionNotes {
      return unlockWithNotes(isCommit: !thread.isUnchanged(by: reducer), on: thread)
    }
    version &+= 1
    thread.exclusive = nil
    lock.unlock()
    yieldPoint(.goOn, on: thread, identifier)
  }

  /// Begins the exclusive section to read the model in place.
  @usableFromInline
  final func lockToRead(on thread: ThreadState) {
    if thread.isInSection { return AtomicStep.beginRead(of: self, on: thread) }
    yieldPoint(.read, on: thread, identifier)
    lock.lock()
    thread.exclusive = self
  }

  /// Ends the exclusive section without a commit.
  @usableFromInline
  final func unlockUnchanged(on thread: ThreadState) {
    unlockWithNotes(isCommit: false, on: thread)
  }

  /// Ends the exclusive section, then does the work that code inside has left.
  @inline(never)
  private final func unlockWithNotes(isCommit: Bool, on thread: ThreadState) {
    if let step = thread.atomic { return step.pointee.endSection(isCommit: isCommit) }
    if isCommit { version &+= 1 }
    thread.exclusive = nil
    lock.unlock()
    thread.endSection()
    yieldPoint(.goOn, on: thread, identifier)
  }

  /// Begins the exclusive section for a commit that may have to be delivered.
  @usableFromInline
  final func lockToNotify(on thread: ThreadState) {
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    thread.exclusive = self
  }

  /// Begins the exclusive section for a commit that this thread will deliver itself.
  ///
  /// Returns false, and begins nothing, if another thread has the delivery turn, or the commit needs its owner.
  /// The turn stays free until the section ends, since no thread takes it without the lock.
  @usableFromInline
  final func lockToDeliver(on thread: ThreadState) -> Bool {
    yieldPoint(.commit, on: thread, identifier)
    lock.lock()
    guard keeper == nil, !notifications.needsOwner, notifications.isIdle else {
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

  /// Calls a closure with the notification queue.
  ///
  /// Called under the lock.
  final func withNotifications<Result, Failure: Error>(
    _ body: (inout NotificationQueue) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(&notifications)
  }

  /// Updates `mayHoldBack` after a transition.
  ///
  /// Called under the lock.
  final func updateHoldingBack() {
    let holdsBack = notifications.holdsBack
    if isHoldingBack.load(ordering: .relaxed) != holdsBack {
      isHoldingBack.store(holdsBack, ordering: .relaxed)
    }
  }

  /// Updates `mayHoldBack` after a transition, and removes the parked steps that may start now, for the caller to call.
  ///
  /// Called under the lock.
  final func takeStarts() -> [NotificationQueue.ParkedStart]? {
    updateHoldingBack()
    return notifications.takeStarts()
  }

  /// Whether changes of the store were left to its notifier.
  ///
  /// May be out of date for a thread without the lock.
  final var mayHoldBack: Bool { isHoldingBack.load(ordering: .relaxed) }

  /// Whether an action must not start in an inline run.
  final func holdsBack(_ run: InlineRun.Address) -> Bool {
    mayHoldBack && run.pointee.isScheduled
  }

  /// Sets the keeper of all commits from now on; called under the lock.
  final func setKeeper(_ keeper: CommitKeeper?) {
    withObserversLocked { _ in self.keeper = keeper }
  }

  /// The keeper, for a thread that may not have the lock.
  final var presentKeeper: CommitKeeper? {
    // Inside a section without the lock, since that of another store is locked already.
    ThreadState.current(by: threadKey).isInSection ? keeper : withLock { _ in keeper }
  }

  /// Calls a closure now or, if the thread is in an exclusive section, once it has left that section.
  final func afterSection(_ body: @escaping (StoreStorage) -> Void) {
    let thread = ThreadState.current
    if thread.exclusive == nil { return body(self) }
    thread.atSectionEnd { _ in body(self) }
  }

  /// Calls a closure that adds or removes observers.
  final func withObservers<Result>(_ body: (inout NotificationQueue) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return withObserversLocked(body)
  }

  /// Calls a closure that adds or removes observers.
  ///
  /// Called under the lock.
  final func withObserversLocked<Result>(_ body: (inout NotificationQueue) -> Result) -> Result {
    defer {
      observed.store(
        publishes || notifications.isObserved || keeper != nil, ordering: .relaxed)
    }
    return body(&notifications)
  }
}
