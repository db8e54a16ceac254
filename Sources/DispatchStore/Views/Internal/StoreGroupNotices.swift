/// Of what the observers of a group of stores are notified.
final class StoreGroupNotices: Sendable {
  /// Has a commit for each notice, with the transaction as its model: a store's observers are called in commit order,
  /// one thread at a time, and threads that must not wait leave the call to that one.
  let settled = Store<TransactionID?, Notice>(model: nil, reducer: Reducer())
  private let underWay = Locked<Set<TransactionID>>([])

  struct Notice: ActionType {}

  /// The dispatches that have changed a store of the group and whose stores have not all ended.
  var dispatchesUnderWay: [TransactionID] { underWay.withLock { $0 }.sorted() }

  /// A dispatch changes a store of the group; called in that one's exclusive section, before the dispatch can end.
  func changes(by dispatch: Dispatch) {
    let transaction = dispatch.id
    guard underWay.withLock({ $0.insert(transaction).inserted }) else { return }
    dispatch.makeDetails().atStoresEnd { self.end(transaction) }
  }

  private func end(_ transaction: TransactionID) {
    underWay.withLock { _ = $0.remove(transaction) }
    notify(of: transaction)
  }

  func notify(of transaction: TransactionID?) {
    settled.updateModel { $0 = transaction }
  }
}

/// Keeps of a store's commits which dispatch makes them, for a group.
final class StoreGroupMember: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  private let notices: StoreGroupNotices
  private weak var storage: StoreStorage?

  init(of notices: StoreGroupNotices, in storage: StoreStorage) {
    self.notices = notices
    self.storage = storage
    super.init()
    ExclusiveSection.check(storage, "observed", on: .current)
    yieldPoint(.observe, storage.identifier)
    storage.withObservers { $0.add(self, from: storage.version &+ 1) }
  }

  /// Of a commit outside a dispatch the group's observers are notified at once.
  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    if let dispatch = commit.owner?.waiting {
      notices.changes(by: dispatch)
    } else {
      kept.schedule(self)
    }
  }

  /// On the thread that commits, once it has left the exclusive section.
  override func scheduleCall() {
    if mayCall { notices.notify(of: nil) }
  }

  /// The group has gone.
  func leave() { end(in: storage) }
}
