import Synchronization

/// A registered observer, without the store's types.
@usableFromInline
class ObserverRecord: @unchecked Sendable {  // because its store's lock guards `slot`
  /// Its place in the list of its store's observers; nil where it is not in it.
  final var slot: Int?
  /// The queue on which it is called.
  final let queue: ObserverQueue?
  /// Whether the store's notifier calls it, in the delivery turn; others cost a commit no turn.
  final let isInTurn: Bool
  private let isActive = Atomic(true)

  init(on queue: ObserverQueue?) {
    self.queue = queue
    isInTurn = queue == nil
  }

  /// One without a queue; by default it keeps its part of each commit, and is called in no turn either.
  init(isInTurn: Bool = false) {
    (queue, self.isInTurn) = (nil, isInTurn)
  }

  /// Whether it gets the model with a change.
  var needsModel: Bool { false }

  /// Sees the model, and its version, from which on it is notified; called in the exclusive section in which it is
  /// added, and first.
  func begin(with model: UnsafeRawPointer, version: UInt64) {}

  /// Keeps what it gets of a commit; called in the exclusive section that makes it.
  ///
  /// - Parameter kept: Takes what is to be done about that once the lock is unlocked.
  func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {}

  /// The store goes, with its model as it is; what is kept of that has no producer.
  func storeGoes(_ commit: CommitInProgress) {}

  /// The notifier notifies it of a change.
  func notify(of change: ObservedChange) { fatalError("ObserverRecord is abstract.") }

  /// After so many calls it leaves its queue to others.
  private static let batch = 64

  /// Calls it on its queue with what it has kept; whether more is left.
  func callOnQueue() -> Bool {
    for _ in 0..<Self.batch where !callWithNext() { return false }
    return true
  }

  /// Calls it with the next of what it has kept; false where there is nothing.
  func callWithNext() -> Bool { fatalError("ObserverRecord is abstract.") }

  final var isCancelled: Bool { !isActive.load(ordering: .sequentiallyConsistent) }

  final func cancel() {
    isActive.store(false, ordering: .sequentiallyConsistent)
  }

  /// Cancels it, and removes it from its store.
  final func end(in storage: StoreStorage?) {
    cancel()
    // Inside an exclusive section no second lock is locked: the next delivery releases the observer.
    if ThreadState.current.exclusive != nil {
      storage?.noteCancelledObserver()
      return
    }
    storage?.remove(self)
  }

  /// Whether the observer's own code may be called now.
  final var mayCall: Bool { !isCancelled || isPlanted(.calledAfterCancel) }

  /// Enqueues a call on its queue; called outside of the store's lock, after it has kept something.
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
  /// On whose behalf; nil for one outside a dispatch.
  let owner: (any CommitOwner)?
  /// Whether it is no commit, but the model that an observer gets first.
  @usableFromInline var isPresentModel = false
  /// Whether it is no commit, but the model with which the store goes.
  @usableFromInline var isLastModel = false

  @usableFromInline var transaction: TransactionID? { owner?.transaction }
}

/// What is to be done, once the lock is unlocked, about observers that have kept something of a commit.
@usableFromInline
struct KeptCommit {
  /// Those of which a call is to be scheduled; nil, which costs nothing, where there are none.
  private(set) var due: [ObserverRecord]?
  /// Where the committing thread waits, once all observers were notified; nil where it does not wait.
  private(set) var waits: [Gate<Void>]?

  @usableFromInline
  init() {}

  mutating func schedule(_ observer: ObserverRecord) {
    if due == nil { due = [] }
    due?.append(observer)
  }

  /// The committing thread is to wait at a gate, as it may (`DispatchContext.mayBlock`).
  mutating func wait(at gate: Gate<Void>) {
    if waits == nil { waits = [] }
    waits?.append(gate)
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
