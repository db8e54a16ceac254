import Synchronization

/// A registered observer, without the store's types.
@usableFromInline
class ObserverRecord: @unchecked Sendable {  // because its store's lock guards `slot`
  /// The index in the store's list of observers, or nil if it is not in the list.
  final var slot: Int?
  /// Whether the notifier calls the observer, in the delivery turn.
  ///
  /// Other observers cost a commit no turn.
  final let isInTurn: Bool
  private let isActive = Atomic(true)

  /// Makes an observer that by default only keeps its part of each commit, without a turn.
  init(isInTurn: Bool = false) {
    self.isInTurn = isInTurn
  }

  /// Whether the observer needs the model with a change.
  var needsModel: Bool { false }

  /// Whether the observer also keeps its part of commits that `shouldNotifyObservers` hides.
  var keepsHidden: Bool { false }

  /// Whether the observer needs the owner of a commit, if it keeps a part of it, and not only the dispatch's identifier.
  var needsOwner: Bool { true }

  /// Receives the current model and version.
  ///
  /// Called first, in the exclusive section in which the observer is added.
  ///
  /// The observer is notified of later versions.
  func begin(with model: UnsafeRawPointer, version: UInt64) {}

  /// Keeps the observer's part of a commit.
  ///
  /// Called in the commit's exclusive section.
  ///
  /// - Parameter kept: Collects the work for after the lock is released.
  func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {}

  /// Receives the model that was loaded in place of the store's own, in the exclusive section.
  ///
  /// Called only for observers without a turn.
  ///
  /// - Parameter kept: Collects the work for after the lock is released.
  func modelWasLoaded(_ model: UnsafeRawPointer, version: UInt64, _ kept: inout KeptCommit) {}

  /// Receives the last model when the store goes, under the store's lock.
  func storeGoes(_ commit: CommitInProgress) {}

  /// Receives a change from the notifier.
  func notify(of change: ObservedChange) { fatalError("ObserverRecord is abstract.") }

  final var isCancelled: Bool { !isActive.load(ordering: .sequentiallyConsistent) }

  final func cancel() {
    isActive.store(false, ordering: .sequentiallyConsistent)
  }

  /// Cancels the observer, and removes it from its store.
  final func end(in storage: StoreStorage?) {
    cancel()
    guard let storage else { return releaseKept() }
    // An exclusive section must not take a second lock.
    storage.afterSection { storage in
      self.remove(from: storage)
      // Only now, since a commit in progress could keep more.
      self.releaseKept()
    }
  }

  /// Removes the observer, which is cancelled, from its store.
  func remove(from storage: StoreStorage) { storage.remove(self) }

  /// Releases the kept parts of commits, outside of the store's lock.
  ///
  /// Called once the observer is cancelled and removed.
  func releaseKept() {}

  /// Whether the observer's own code may be called now.
  final var mayCall: Bool { !isCancelled || isPlanted(.calledAfterCancel) }

  /// Makes or enqueues the call for which the observer was scheduled with a commit, outside of the store's lock.
  func scheduleCall() {}

  /// Whether `scheduleCall` may come before the delivery turn: it calls no code of the program that may commit.
  var needsNoTurn: Bool { false }
}

/// A commit in its exclusive section, as observers see it that keep a part of it.
@usableFromInline
struct CommitInProgress {
  /// Address of the store's model.
  @usableFromInline let model: UnsafeRawPointer
  /// Address of an optional action of the store's type.
  @usableFromInline let action: UnsafeRawPointer
  @usableFromInline let version: UInt64
  /// The owner of the commit, or nil outside a dispatch.
  let owner: (any CommitOwner)?
  /// The dispatch of the commit, also if no observer needs its owner.
  @usableFromInline var dispatchID: DispatchID?
  /// Whether this is no commit, but the model that an observer gets first.
  @usableFromInline var isPresentModel = false
  /// Whether it is a part of an atomic action's change.
  var isTogether = false
  /// Whether `shouldNotifyObservers` hides it.
  @usableFromInline var isHidden = false
}

/// The work after a commit's lock is released, for observers that have kept a part of the commit.
@usableFromInline
struct KeptCommit {
  /// The observers for which to schedule a call.
  ///
  /// Nil if none, because an empty array costs more.
  private(set) var due: [ObserverRecord]?
  /// The gates at which the committing thread waits, once all observers were notified.
  ///
  /// Nil if it does not wait.
  private(set) var waits: [Eventual<Void>]?
  /// The keeper to tell, if it has work to do; nil for most.
  var keeper: CommitKeeper?
  /// Objects that observers no longer need, to be released outside of the lock: deinitialisers are code of the program.
  private var released: [AnyObject]?

  @usableFromInline
  init() {}

  /// Whether the committing thread neither runs code of the program for these observers, nor waits for one.
  var needsNoTurn: Bool { waits == nil && due?.allSatisfy(\.needsNoTurn) != false }

  mutating func schedule(_ observer: ObserverRecord) {
    if due == nil { due = [] }
    due?.append(observer)
  }

  /// Tells the keeper, and schedules the calls that need no delivery turn, outside of the lock.
  mutating func scheduleBeforeTurn() {
    // Before code of the program, which may wait until the commit is saved.
    keeper.take()?.kept()
    for observer in due ?? [] where observer.needsNoTurn { observer.scheduleCall() }
    due?.removeAll { $0.needsNoTurn }
  }

  /// Keeps an object until the lock is released.
  mutating func release(_ object: AnyObject) {
    if released == nil { released = [] }
    released?.append(object)
  }

  /// Makes the committing thread wait at a gate later.
  ///
  /// The thread must be allowed to (`DispatchContext.mayBlock`).
  mutating func wait(at gate: Eventual<Void>) {
    if waits == nil { waits = [] }
    waits?.append(gate)
  }
}
