/// The changes of a store group for its observers.
final class StoreGroupNotices: Sendable {
  /// A store with one commit for each notice.
  ///
  /// Observers of a store are called in commit order, by one thread at a time. Threads that must not wait leave the
  /// call to that thread.
  let settled = Store<Void, Notice>(model: (), reducer: Reducer())
  private let underWay = Locked<Set<DispatchID>>([])

  struct Notice: ActionType {
    /// The dispatch whose stores have ended, or nil for a change outside a dispatch.
    let dispatchID: DispatchID?
  }

  /// The dispatches that have changed a store of the group, and whose stores have not all ended.
  ///
  /// In no order. An array, since a shared set would be copied by the next commit, in a store's exclusive section.
  var dispatchesUnderWay: [DispatchID] { underWay.withLock { Array($0) } }

  /// Records that a dispatch changes a store; called in that store's exclusive section, before the dispatch can end.
  func changes(by dispatch: Dispatch) {
    let dispatchID = dispatch.id
    guard underWay.withLock({ $0.insert(dispatchID).inserted }) else { return }
    // The commits of a list that waits at a gate are saved after its last action.
    let whole = dispatch.whole
    let ending = whole.sequence?.endGate == nil ? dispatch : whole
    ending.makeDetails().atStoresEnd { self.end(dispatchID) }
  }

  private func end(_ dispatchID: DispatchID) {
    underWay.withLock { _ = $0.remove(dispatchID) }
    notify(of: dispatchID)
  }

  func notify(of dispatchID: DispatchID?) {
    settled.inject(model: (), action: Notice(dispatchID: dispatchID))
  }
}

/// Records which dispatch makes each commit of a store, for a group.
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

  /// Records the dispatch of a commit; for a commit outside a dispatch, schedules the notification at once.
  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    if let dispatch = commit.owner?.waiting {
      notices.changes(by: dispatch)
    } else {
      kept.schedule(self)
    }
  }

  /// Notifies on the committing thread, once it has left the exclusive section.
  override func scheduleCall() {
    if mayCall { notices.notify(of: nil) }
  }

  /// Stops recording, when the group is released.
  func leave() { end(in: storage) }
}
