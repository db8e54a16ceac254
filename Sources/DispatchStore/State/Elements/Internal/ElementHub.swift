/// The observers of single elements of one collection in one store: either the inline ones, or those on queues.
///
/// The store has a hub for each collection observed by element. A commit costs a hub time linear in the commit's
/// changes, regardless of the number of observers. Only the hub's table has the collection's types.
@usableFromInline
final class ElementHub: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  @usableFromInline
  typealias Keep = @Sendable (CommitInProgress, ElementHub, inout KeptCommit) -> Void

  /// The table of this hub's observers.
  let table: AnyObject
  private let keep: Keep
  /// The notices for the notifier to deliver, in commit order.
  private let notices = Mailbox<(version: UInt64, observer: Follower)>()

  /// - Parameter keep: Passes a commit to those observers of the table whose elements it has changed.
  @usableFromInline
  init(_ table: AnyObject, isInTurn: Bool, _ keep: @escaping Keep) {
    self.table = table
    self.keep = keep
    super.init(isInTurn: isInTurn)
  }

  /// The table notes what hidden commits have touched.
  override var keepsHidden: Bool { true }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    keep(commit, self, &kept)
  }

  /// Keeps a change for one of the observers; returns false if it was dropped.
  @usableFromInline
  func keep(
    _ element: KeptValue, of commit: CommitInProgress, for observer: Follower,
    _ kept: inout KeptCommit
  ) -> Bool {
    let isKept = observer.put(observer.note(commit, element), of: commit, &kept)
    if isInTurn { _ = notices.put((commit.version, observer)) }
    return isKept
  }

  override func notify(of change: ObservedChange) {
    while let notice = notices.take(where: { $0.version <= change.version }) {
      notice.observer.notify(of: change)
    }
  }
}

/// The observers of one element, in order of registration.
@usableFromInline
struct ElementObserverList {
  var list = ObserverList()
  /// The number of the first observer, among all that were added to the table.
  @usableFromInline let number: Int

  /// Returns the next observer that is not cancelled, and moves the index past it.
  @usableFromInline
  func next(_ index: inout Int) -> Follower? {
    while index < list.slots.count {
      defer { index += 1 }
      guard let observer = list.slots[index]?.observer, !observer.isCancelled else { continue }
      return unsafeDowncast(observer, to: Follower.self)
    }
    return nil
  }
}
