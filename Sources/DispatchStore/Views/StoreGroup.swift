/// Several stores, seen together: observers are notified once for each dispatch, after all of its stores have ended.
///
///     let group = StoreGroup(orders, stock)
///     let token = group.observe { change in
///       let (orders, stock) = change.models
///       …
///     }
///
/// A dispatch that changes several stores of the group, or one of them several times, is one call, before its
/// completion; one that changes none is none. A change outside a dispatch is a call at once. Each action of
/// a sequence, and each dispatch that another one makes, counts by itself. As with other observers, what
/// `shouldNotifyObservers(for:in:)` excludes, or a reducer that says `noChange()`, is no change.
///
/// The group keeps the models and not the stores, and may be used from any thread. While it exists, a commit of its
/// stores costs what one of an observed store does, plus a set's insertion for the first commit of each dispatch.
public final class StoreGroup<each Model: Sendable>: Sendable {
  private let stores: StoreTuple<repeat each Model>
  private let notices: StoreGroupNotices
  private let members: [StoreGroupMember]

  /// Makes a group of stores, which may be registered with several dispatchers, or with none.
  ///
  /// Of dispatches under way it knows those that change one of the stores from now on. Not to be called inside an
  /// exclusive section.
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
  /// Waits for reductions in progress, as each read of a store; no lock is held meanwhile, unless the stores change so
  /// fast that three attempts fail: then the stores are locked together. Runs no code of the program. Not to be called
  /// inside an exclusive section, whose message names both stores.
  public func snapshot() -> StoreSnapshot<repeat each Model> {
    stores.snapshot { notices.dispatchesUnderWay }
  }

  /// Notifies an observer of each dispatch that has changed stores of the group, once all of its stores have ended,
  /// and of each change outside a dispatch, until its token ends.
  ///
  /// It is called on the thread that is about to run the dispatch's completion, before that, or on the one that has
  /// made the change, one call after the other. Where another thread calls the group's observers meanwhile, a caller
  /// from outside or of `.sync` waits for its turn; a thread of a lane or of the concurrent queue leaves the call
  /// to that one and goes on, as in `Store.observe(initial:_:)`. The observer may dispatch in every mode, change
  /// stores, and cancel itself or others. The token keeps the group.
  ///
  /// - Parameters:
  ///   - initial: Whether it is notified of the present models first.
  ///   - body: Called with the models as they are then, never while a lock is held.
  public func observe(
    initial: Bool = false,
    _ body: @escaping @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    notices.settled.observe({ $0 }, initial: initial) { notice in
      body(self.change(notice.model))
    }
  }

  /// Notifies an observer on a queue, otherwise as `observe(initial:_:)`; no dispatch waits for it.
  ///
  /// - Parameters:
  ///   - delivery: The queue.
  ///   - initial: Whether it is notified of the present models first.
  ///   - body: Called on the queue with the models as they are then, once for each dispatch.
  public func observe(
    on delivery: ObserverDelivery, initial: Bool = false,
    _ body: @escaping @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    notices.settled.observe({ $0 }, on: delivery, initial: initial) { notice in
      body(self.change(notice.model))
    }
  }

  /// The same on the main queue, isolated to the main actor.
  ///
  /// - Parameters:
  ///   - delivery: `.main`.
  ///   - initial: Whether it is notified of the present models first.
  ///   - body: Called on the main queue with the models as they are then, once for each dispatch.
  public func observe(
    on delivery: MainDelivery, initial: Bool = false,
    _ body: @escaping @MainActor @Sendable (StoreGroupChange<repeat each Model>) -> Void
  ) -> ObserverToken {
    notices.settled.observe({ $0 }, on: delivery, initial: initial) { notice in
      body(self.change(notice.model))
    }
  }

  private func change(_ transaction: TransactionID?) -> StoreGroupChange<repeat each Model> {
    StoreGroupChange(snapshot: snapshot(), transaction: transaction)
  }
}
