import Synchronization

/// A registered observer, without the store's types.
@usableFromInline
class ObserverRecord: @unchecked Sendable {  // because its store's lock guards `slot`
  /// Its place in the list of its store's observers; nil where it is not in it.
  final var slot: Int?
  /// Where it is called; nil where the store's notifier calls it, or where it schedules its calls itself.
  final let queue: ObserverQueue?
  /// Whether the store's notifier calls it, in a delivery turn.
  final let isNotified: Bool
  private let isActive = Atomic(true)

  init(on queue: ObserverQueue?) {
    self.queue = queue
    isNotified = queue == nil
  }

  /// One that has no queue, and that the notifier may not call either.
  init(isNotified: Bool) {
    queue = nil
    self.isNotified = isNotified
  }

  /// Whether it gets the model with a change.
  var needsModel: Bool { false }

  /// Keeps what it gets of a commit; called in the exclusive section that makes it.
  ///
  /// - Returns: Whether a call is to be scheduled on its queue.
  func keep(_ commit: CommitInProgress) -> Bool { false }

  /// The same for one that keeps it for others, of which calls may have to be scheduled, too.
  func keep(_ commit: CommitInProgress, scheduling kept: inout KeptCommit) {
    if keep(commit), !isNotified { kept.schedule(self) }
  }

  /// The notifier notifies it of a change.
  func notify(of change: ObservedChange) { fatalError("ObserverRecord is abstract.") }

  /// Calls it on its queue with what it has kept; whether more is left.
  func callOnQueue() -> Bool { fatalError("ObserverRecord is abstract.") }

  final var isCancelled: Bool { !isActive.load(ordering: .sequentiallyConsistent) }

  final func cancel() {
    isActive.store(false, ordering: .sequentiallyConsistent)
  }

  /// Whether the observer's own code may be called now.
  final var mayCall: Bool { !isCancelled || isPlanted(.calledAfterCancel) }

  /// Enqueues a call on its queue; called outside the store's lock.
  func scheduleCall() {
    queue?.enqueue { if self.callOnQueue() { self.scheduleCall() } }
  }
}

/// A commit while its exclusive section is held, as observers see it that keep something of it.
@usableFromInline
struct CommitInProgress {
  /// The store's model.
  @usableFromInline let model: UnsafeRawPointer
  /// An optional action of the store's type.
  @usableFromInline let action: UnsafeRawPointer
  @usableFromInline let version: UInt64
  @usableFromInline let transaction: TransactionID?
  /// Whether it is no commit, but the model that an observer gets first.
  var isPresentModel = false
}

/// What is to be done, once the lock is unlocked, about observers that have kept something of a commit.
@usableFromInline
struct KeptCommit {
  /// Those of which a call is to be scheduled; nil, which costs nothing, where there are none.
  private(set) var due: [ObserverRecord]?
  /// Whether some were cancelled inside an exclusive section.
  var hasCancelled = false

  @usableFromInline
  init() {}

  mutating func schedule(_ observer: ObserverRecord) {
    if due == nil { due = [] }
    due?.append(observer)
  }
}

/// An observer of whole models that the notifier calls.
@usableFromInline
final class ModelObserver: ObserverRecord, @unchecked Sendable {  // because its superclass is
  private let body: @Sendable (ObservedChange) -> Void

  @usableFromInline
  init(_ body: @escaping @Sendable (ObservedChange) -> Void) {
    self.body = body
    super.init(on: nil)
  }

  override var needsModel: Bool { true }

  override func notify(of change: ObservedChange) {
    if mayCall { body(change) }
  }
}
