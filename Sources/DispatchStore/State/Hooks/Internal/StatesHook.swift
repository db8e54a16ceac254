/// The middleware of a hook that gets states.
///
/// Follows a store's commits from the first action dispatched to the store. The observer is a `ModelTracker`, which
/// keeps the model while actions are under way.
package final class StatesHook: Middleware {
  private let follows: @Sendable (AnyStore) -> Bool
  private let receive: @Sendable (HandledStates) -> Void
  private let trackers = Locked(Trackers())

  /// The trackers of a store run, by hook: at its end, a weakly owned store may be gone.
  private enum Begun: DispatchKey {
    typealias Value = [ObjectIdentifier: any StoreTracker]
  }

  /// - Parameters:
  ///   - follows: Whether it follows a store; asked once for each action, on the dispatching thread.
  ///   - receive: Called like a store's `didDispatch`, with the states around each action that the store has handled.
  package init(
    of follows: @escaping @Sendable (AnyStore) -> Bool,
    _ receive: @escaping @Sendable (HandledStates) -> Void
  ) {
    (self.follows, self.receive) = (follows, receive)
  }

  package var hooks: MiddlewareHooks { .stores }

  package func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    guard follows(store), let tracker = tracker(of: store) else { return .pass }
    tracker.begin(transaction.id)
    var begun = transaction[byStore: Begun.self] ?? [:]
    begun[ObjectIdentifier(self)] = tracker
    transaction[byStore: Begun.self] = begun
    return .pass
  }

  package func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    let begun = transaction.dispatch[byStore: Begun.self]
    if let states = begun?[ObjectIdentifier(self)]?.end(transaction, action) { receive(states) }
  }

  private func tracker(of store: AnyStore) -> (any StoreTracker)? {
    if let present = trackers.withLock({ $0[store] }) { return present }
    // Outside the lock, because it locks the store; if several threads make a tracker, the first one stays.
    guard let made = (store as? any TrackedStore)?.track() else { return nil }
    trackers.withLockReleasing { $0.insert(made, of: store) }
    return trackers.withLock { $0[store] }
  }
}

/// Follows a store's commits on behalf of one hook.
protocol StoreTracker: AnyObject, Sendable {
  /// The store, while it exists.
  var trackedStore: AnyStore? { get }
  /// Begins a store run before it is scheduled; `end` follows.
  func begin(_ id: DispatchID)
  /// Ends a store run; returns nil if the action was not handled.
  func end(_ run: StoreRunInfo, _ action: AnyAction) -> HandledStates?
}

/// A tracker, and the token that keeps it registered.
struct Tracking: Sendable {
  let tracker: any StoreTracker
  let token: ObserverToken
}

/// The trackers of one hook, by the identity of their stores.
private struct Trackers {
  private var present: [ObjectIdentifier: Tracking] = [:]
  /// The count at which trackers of released stores are removed.
  private var limit = 16

  subscript(store: AnyStore) -> (any StoreTracker)? {
    guard let tracking = present[ObjectIdentifier(store)],
      tracking.tracker.trackedStore === store
    else { return nil }
    return tracking.tracker
  }

  /// Adds a tracking, unless the store has one.
  ///
  /// Returns the objects to release outside the lock, because releasing models may run the program's code.
  mutating func insert(_ tracking: Tracking, of store: AnyStore) -> [Tracking] {
    if self[store] != nil { return [tracking] }
    var released: [Tracking] = []
    if let former = present.updateValue(tracking, forKey: ObjectIdentifier(store)) {
      released.append(former)
    }
    guard present.count >= limit else { return released }
    for (key, tracking) in present where tracking.tracker.trackedStore == nil {
      released.append(tracking)
      present[key] = nil
    }
    limit = max(16, present.count * 2)
    return released
  }
}
