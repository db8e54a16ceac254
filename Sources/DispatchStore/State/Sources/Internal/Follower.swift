import Synchronization

/// The observer of one subscription to a source; its subclasses deliver to a closure, or to a stream.
@usableFromInline
class Follower: ObserverRecord, @unchecked Sendable {
  // because the store's lock guards `last`
  @usableFromInline typealias Note = @Sendable (CommitInProgress, KeptValue?) -> KeptNote

  final let reader: CommitReader
  final let hasInitial: Bool
  /// Makes the note of a commit, with the value that was read.
  final let note: Note
  /// The value that was kept last, if the reader compares with it.
  private var last: KeptValue?
  /// The state of a follower that a hub calls, guarded by the store's lock.
  @usableFromInline final var hubState: AnyObject?
  /// Removes a follower that is not in the store's list of observers.
  final var detach: (@Sendable (StoreStorage, Follower) -> Void)?

  init(_ reader: CommitReader, isInTurn: Bool, initial: Bool, note: @escaping Note) {
    (self.reader, hasInitial, self.note) = (reader, initial, note)
    super.init(isInTurn: isInTurn)
  }

  final override var keepsHidden: Bool { reader.keepsHidden }

  final override func begin(with model: UnsafeRawPointer, version: UInt64) {
    let present = reader.begin(model, version)
    if hasInitial || reader.keepsLast { last = present }
  }

  final override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    if commit.isPresentModel {
      let present = last ?? reader.begin(commit.model, commit.version)
      if !reader.keepsLast { last = nil }
      _ = put(note(commit, present), of: commit, &kept)
      return
    }
    guard let value = reader.read(commit, last) else { return }
    if put(note(commit, value), of: commit, &kept), reader.keepsLast { last = value }
  }

  /// Keeps a note, in the exclusive section; returns false if it was dropped.
  func put(_ note: KeptNote, of commit: CommitInProgress, _ kept: inout KeptCommit) -> Bool {
    fatalError("Follower is abstract.")
  }

  final override func remove(from storage: StoreStorage) {
    if let detach { return detach(storage, self) }
    guard let end = reader.end else { return super.remove(from: storage) }
    storage.inSection {
      end()
      storage.withObserversLocked { $0.remove(self) }
    }
  }
}

/// A follower that calls a closure, inline or on a queue.
@usableFromInline
final class CallingFollower: Follower, @unchecked Sendable {
  // because its superclass is
  /// The queue, or nil if the notifier calls.
  private let queue: ObserverQueue?
  private let call: @Sendable (KeptNote, CallingFollower) -> Void
  private let kept = Mailbox<KeptNote>()
  /// The number of notes not delivered by the notifier, so that `notify` returns at once for a commit without one.
  private let undelivered = Atomic(0)

  @usableFromInline
  init(
    _ reader: CommitReader, on delivery: ObserverDelivery, initial: Bool, note: @escaping Note,
    call: @escaping @Sendable (KeptNote, CallingFollower) -> Void
  ) {
    (queue, self.call) = (ObserverQueue(delivery), call)
    super.init(reader, isInTurn: queue == nil, initial: initial, note: note)
  }

  override func put(
    _ note: KeptNote, of commit: CommitInProgress, _ kept: inout KeptCommit
  ) -> Bool {
    if isInTurn {
      undelivered.add(1, ordering: .relaxed)
      _ = self.kept.put(note)
    } else if self.kept.put(merged(note, &kept)) {
      kept.schedule(self)
    }
    return true
  }

  /// Merges a note with the one that waits, if the source can.
  ///
  /// Not under the mailbox's lock, because elements may be compared: the store's lock keeps other commits out. A call
  /// on the queue that finds nothing meanwhile is scheduled again.
  private func merged(_ note: KeptNote, _ kept: inout KeptCommit) -> KeptNote {
    guard let merge = reader.merge, let value = note.value, let former = self.kept.takeBack(),
      let earlier = former.value
    else { return note }
    // The last reference to its action may be here, in the section.
    kept.release(former)
    return note.with(merge(earlier, value) ?? earlier)
  }

  /// Delivers the notes of a commit; notes and deliveries are both in commit order.
  override func notify(of change: ObservedChange) {
    // The store's lock orders this: a commit's note is kept before its delivery can begin.
    if undelivered.load(ordering: .relaxed) == 0 { return }
    while let note = kept.take(where: { $0.version <= change.version }) {
      undelivered.subtract(1, ordering: .relaxed)
      yieldPoint(.callObserver)
      if mayCall { call(note, self) }
    }
  }

  override func releaseKept() { _ = kept.takeAll() }

  override func scheduleCall() { queue?.enqueue(callOnQueue) }

  override var needsNoTurn: Bool { true }

  /// The number of calls after which the observer leaves its queue to others.
  private static let batch = 64

  private func callOnQueue() {
    for _ in 0..<Self.batch {
      guard let note = kept.take() else { return }
      yieldPoint(.callObserver)
      if mayCall { call(note, self) }
    }
    scheduleCall()
  }

  @usableFromInline var isCalled: Bool { mayCall }
}

extension StoreStorage {
  /// Calls a closure that removes an observer, in an exclusive section.
  ///
  /// Has no yield point, because the compiler decides when a token is released.
  func inSection(_ body: () -> Void) {
    let thread = ThreadState.current
    lock.lock()
    thread.exclusive = self
    body()
    unlockUnchanged(on: thread)
  }
}
