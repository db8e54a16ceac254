/// Several stores seen together: observers are notified once per dispatch, after all of its stores have ended.
///
///     let group = StoreGroup(orders, stock)
///     let token = group.observe { change in
///       let (orders, stock) = change.models
///       …
///     }
///
/// A dispatch that changes stores of the group, however often, makes one call, before its completion. A dispatch that
/// changes none makes no call. A change outside a dispatch makes a call at once. Each action of a sequence, and each
/// nested dispatch, counts separately. Like other observers, these don't see a commit if
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

  /// Notifies an observer of each dispatch that has changed stores of the group, and of each change outside a
  /// dispatch.
  ///
  /// Calls come one after the other, until the token ends. The call for a dispatch comes once all of its stores have
  /// ended, on the thread that is about to run its completion. The call for another change comes on the thread that
  /// made it.
  ///
  /// If another thread is calling the group's observers, a caller from outside or of `.sync` waits for its turn. A
  /// thread of a lane or of the concurrent queue leaves the call to that thread and continues, as in
  /// `Store.observe(initial:_:)`. The observer may dispatch in every mode, change stores, and cancel itself or
  /// others. The token retains the group.
  ///
  /// - Parameters:
  ///   - initial: Whether the observer is first notified of the current models.
  ///   - body: Called with the models at the time of the call, never while a lock is held.
  public func observe(
    initial: Bool = false,
    _ body: @escaping @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    notices.settled.observe({ $0 }, initial: initial) { notice in
      body(self.change(notice.model))
    }
  }

  /// Notifies an observer on a queue, otherwise like `observe(initial:_:)`; no dispatch waits for it.
  ///
  /// - Parameters:
  ///   - delivery: The queue.
  ///   - initial: Whether the observer is first notified of the current models.
  ///   - body: Called on the queue with the models at the time of the call, once for each dispatch.
  public func observe(
    on delivery: ObserverDelivery, initial: Bool = false,
    _ body: @escaping @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    notices.settled.observe({ $0 }, on: delivery, initial: initial) { notice in
      body(self.change(notice.model))
    }
  }

  /// Notifies a main-actor observer, on the main queue, otherwise like `observe(initial:_:)`; no dispatch waits for
  /// it.
  ///
  /// - Parameters:
  ///   - delivery: `.main`.
  ///   - initial: Whether the observer is first notified of the current models.
  ///   - body: Called on the main queue with the models at the time of the call, once for each dispatch.
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    notices.settled.observe({ $0 }, on: delivery, initial: initial) { notice in
      body(self.change(notice.model))
    }
  }

  private func change(_ dispatchID: DispatchID?) -> StoreGroupChange<repeat each Model> {
    StoreGroupChange(snapshot: snapshot(), dispatchID: dispatchID)
  }
}
