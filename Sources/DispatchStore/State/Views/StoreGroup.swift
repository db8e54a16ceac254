/// Several stores seen together: observers are notified once per dispatch, after all of its stores have ended.
///
///     let group = StoreGroup(orders, stock)
///     let token = group.observe { change in
///       let (orders, stock) = change.value.models
///       …
///     }
///
/// A dispatch that changes stores of the group, however often, makes one call. A dispatch that changes none makes no
/// call. A change outside a dispatch makes a call at once. Each action of a sequence, and each nested dispatch, counts
/// separately. Like other observers, these don't see a commit if
/// `shouldNotifyObservers(for:in:)` excludes it or the reducer calls `unchanged()`.
///
/// The group retains the models and not the stores. You can use it from any thread. While it exists, a commit of its
/// stores costs as much as one of an observed store. The first commit of each dispatch also costs a set insertion.
public final class StoreGroup<each Model: Sendable>: Sendable {
  private let stores: StoreTuple<repeat each Model>
  private let notices: StoreGroupNotices
  private let members: [StoreGroupMember]

  /// Makes a group of stores, which may be registered with several dispatchers, or with none.
  ///
  /// The group knows dispatches under way only if they change one of the stores from now on. Don't call this inside
  /// an exclusive section.
  ///
  /// - Parameter stores: The stores, in the order in which observers get the models.
  public init<each Action: ActionType>(_ stores: repeat Store<each Model, each Action>) {
    self.stores = StoreTuple(repeat each stores)
    let notices = StoreGroupNotices()
    self.notices = notices
    members = self.stores.lockOrder.map { StoreGroupMember(of: notices, in: $0) }
  }

  deinit {
    for member in members { member.leave() }
  }

  /// Takes a snapshot of the stores at one instant, with the dispatches under way in them.
  ///
  /// Waits for reductions in progress, like any read of a store. No lock is held while waiting. Only if the stores
  /// change so fast that three attempts fail, they are locked together. Runs none of the program's code. A call
  /// inside an exclusive section stops the program, with a message that names both stores.
  public func snapshot() -> StoreSnapshot<repeat each Model> {
    stores.snapshot { notices.dispatchesUnderWay }
  }

  /// Calls an observer once for each dispatch that has changed stores of the group, and for each change outside a
  /// dispatch, until its token ends.
  ///
  /// Calls come one after the other. The call for a dispatch comes once all of its stores have ended and its commits
  /// are saved, before its completion. An inline observer is called on the thread that is about to run the completion
  /// or, for a change outside a dispatch, on the thread that made it, perhaps before inline observers of the store.
  ///
  /// If another thread is calling the group's inline observers, a caller from outside or of `.sync` waits for its
  /// turn. A thread of a lane or of the concurrent queue leaves the call to that thread and continues: the completion
  /// may come before the call. So it does if the dispatch ends at its deadline. No dispatch waits for an observer on a
  /// queue. The observer may dispatch in every mode, change stores, and cancel itself or others. The token keeps the
  /// group alive.
  ///
  /// A change has a snapshot of the stores at the time of the call, perhaps with later changes, too. Its only commit
  /// names the dispatch; its version is the number of the call for the group.
  ///
  /// - Parameters:
  ///   - initial: Whether the observer gets the present models first.
  ///   - delivery: The place where the observer is called.
  ///   - body: Called with each change, never while a lock is held.
  public func observe(
    initial: Bool = false, on delivery: ObserverDelivery = .inline,
    _ body:
      @escaping @Sendable (Change<StoreSnapshot<repeat each Model>, HandledAction>) -> Void
  ) -> ObserverToken {
    let isActive = Locked(true)
    // The token may be cancelled while the snapshot waits for the stores, or between several calls for one notice.
    let call = { @Sendable (version: UInt64, dispatchID: DispatchID?, isInitial: Bool) in
      let change = Change<StoreSnapshot<repeat each Model>, HandledAction>(
        .now(self.snapshot()), version: version, action: nil, dispatchID: dispatchID,
        isInitial: isInitial)
      if isActive.withLock(\.self) { body(change) }
    }
    let token = notices.settled.observe(.model, initial: initial, on: delivery) { notice in
      for commit in notice.commits { call(commit.version, commit.action?.dispatchID, false) }
      if notice.commits.isEmpty { call(notice.version, nil, true) }
    }
    return ObserverToken {
      isActive.withLock { $0 = false }
      token.cancel()
    }
  }
}
