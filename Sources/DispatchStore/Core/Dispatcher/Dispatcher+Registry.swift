import Synchronization

extension Dispatcher {
  /// Registers a store, at any time, from any thread; a dispatch in flight keeps its snapshot.
  ///
  /// A store belongs to one dispatcher. Takes constant time, however many stores there are.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - waitFor: The stores that it waits for, registered earlier or later.
  ///   - ownership: Whether the dispatcher keeps it alive.
  /// - Returns: The store registered under its identifier: this one, or one of the same type that was registered
  ///   before. The earlier store stays registered, with its own `waitFor` and ownership. If it is another store, or
  ///   if these differ, that is reported as a warning.
  /// - Precondition: No store of another type has the identifier; no other dispatcher has the store. It is not saved in
  ///   another database than the dispatcher's stores.
  @discardableResult
  public func register<Model, Action>(
    store: Store<Model, Action>, waitFor: WaitFor = [], ownership: StoreOwnership = .strong
  ) -> Store<Model, Action> {
    let gate = store.storage.presentKeeper?.gate
    let found = changeRegistry(.register) { registry -> Found in
      let home = store.enter(self)
      guard home === self else { return .elsewhere(home) }
      if let entry = registry.entry(store.identifier), let present = entry.store {
        if present !== store { store.leaveDispatcher() }
        return .present(present, entry)
      }
      guard registry.mayInsert(with: gate) else {
        return .savedElsewhere(weak: registry.weakEntries)
      }
      let former = registry.remove(store.identifier)
      registry.insert { sequence in
        store.reducer.makeEntry(
          of: store,
          StoreRegistration(
            sequence: sequence, waitFor: waitFor, ownership: ownership, endGate: gate))
      }
      return .none(former: former, released: registry.takeWeakEntries())
    }
    switch found {
    case .none(_, let released):
      unregisterReleased(released)
      reportMissingReducer(of: store)
      return store
    case .present(let present, let entry):
      if let same = present as? Store<Model, Action> {
        if same !== store || entry.waitFor != waitFor || entry.ownership != ownership {
          reportRepeated(store, isOther: same !== store, waitFor, ownership, present: entry)
        }
        return same
      }
      stopProgram(
        """
        Store identifier "\(store.identifier)" is taken in dispatcher "\(name)": a \
        \(type(of: present)) has it, and a \(type(of: store)) was to be registered. Give one of them \
        another identifier.
        """)
    case .elsewhere(let home):
      stopProgram(
        """
        Store "\(store.identifier)" can't be registered with dispatcher "\(name)": it belongs to \
        dispatcher "\(home.name)". Unregister it there first, or make a store for each.
        """)
    case .savedElsewhere(let weak):
      // The others may be gone.
      if unregisterGone(weak) {
        return register(store: store, waitFor: waitFor, ownership: ownership)
      }
      stopProgram(
        """
        Store "\(store.identifier)" can't be registered with dispatcher "\(name)": it is saved in another database than \
        that dispatcher's stores. Register it with persisted: at a dispatcher that has the database, or make another \
        store.
        """)
    }
  }

  /// The result of looking for obstacles to a registration.
  private enum Found {
    /// No obstacle. The entries of weakly held stores are to be checked for released stores.
    ///
    /// The entry of a store that is gone is released outside the lock, with everything that its handlers have captured.
    case none(former: StoreEntry?, released: [StoreEntry])
    /// A store that has the identifier already.
    case present(any StoreType, StoreEntry)
    /// The store belongs to another dispatcher.
    case elsewhere(Dispatcher)
    /// The store is saved in another database than the dispatcher's stores; the entries of those that are held weakly.
    case savedElsewhere(weak: [StoreEntry])
  }

  /// Unregisters a store; dispatches in flight still run it.
  ///
  /// - Returns: Whether it was registered here.
  @discardableResult
  public func unregister(store: AnyStore) -> Bool {
    remove(store.identifier) { $0 === store }.entry != nil
  }

  /// Unregisters the store with this identifier, and returns it.
  @discardableResult
  public func unregister(storeIdentifier: String) -> AnyStore? {
    remove(storeIdentifier) { _ in true }.store
  }

  /// Removes the entry of an identifier, if a condition holds for its store.
  ///
  /// Also returns the store, to be released outside of the lock: one that is held weakly may have no other owner by now.
  private func remove(
    _ identifier: String, if condition: (AnyStore?) -> Bool
  ) -> (entry: StoreEntry?, store: AnyStore?) {
    changeRegistry(.unregister) { registry -> (StoreEntry?, AnyStore?) in
      let store = registry.entry(identifier)?.store
      return (condition(store) ? registry.remove(identifier) : nil, store)
    }
  }

  /// Unregisters all stores of a type, and returns them, in order of registration.
  @discardableResult
  public func unregister<Model, Action>(
    storesOfType type: Store<Model, Action>.Type
  ) -> [Store<Model, Action>] {
    let (entries, present) = changeRegistry(.unregister) {
      registry -> ([StoreEntry], [AnyStore]) in
      let present = registry.stores
      return (registry.removeAll { $0 is TypedStoreEntry<Model, Action> }, present)
    }
    // Released outside the lock, too.
    return withExtendedLifetime(present) {
      entries.compactMap { $0.store as? Store<Model, Action> }
    }
  }

  /// The store with this identifier, or nil; cast it to its type by `as? Store<…>`.
  public func store(with identifier: String) -> AnyStore? {
    registry.withLock { $0.entry(identifier)?.store }
  }

  /// The registered stores, in order of registration.
  public var stores: [AnyStore] {
    registry.withLock { $0.stores }
  }

  /// Registers a middleware after the present ones.
  ///
  /// A middleware that is registered already keeps its position.
  public func register(middleware: any Middleware) {
    register(middleware, isFirst: false)
  }

  /// Registers a middleware before the present ones, so that its `dispatchDidEnd` is called after theirs.
  package func register(first middleware: any Middleware) {
    register(middleware, isFirst: true)
  }

  private func register(_ middleware: any Middleware, isFirst: Bool) {
    // Asked for its hooks outside the lock.
    let registered = RegisteredMiddleware(middleware)
    let aware = middleware as? any RegistrationAware
    changeRegistry(.register) { registry in
      registry.insert(registered, isFirst: isFirst)
      aware?.noteRegistration(true)
    }
  }

  /// Unregisters a middleware.
  ///
  /// If its `willDispatch` was called, its `didDispatch` still is.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  public func unregister(middleware: any Middleware) -> Bool {
    let aware = middleware as? any RegistrationAware
    return changeRegistry(.unregister) { registry in
      let wasRegistered = registry.remove(middleware)
      if wasRegistered { aware?.noteRegistration(false) }
      return wasRegistered
    }
  }

  /// The registered middlewares, in order of registration.
  public var middlewares: [any Middleware] {
    registry.withLock { $0.middlewares }
  }
}

extension Dispatcher {
  /// Changes the registry, and evicts the affected routes from all threads' caches.
  func changeRegistry<Result>(
    _ transition: Transition, _ body: (inout Registry) -> Result
  ) -> Result {
    yieldPoint(transition)
    if isPlanted(.lateEviction) { return changeThenEvict(transition, body) }
    // Evicted under the lock. The next change finds these routes no longer, so it could return while its own thread
    // still has copies of them.
    let (result, removed) = registry.withLock { registry in
      (body(&registry), RouteCache.evict(registry.routes.takeRemoved()))
    }
    for route in removed { route.retire() }
    return result
  }

  /// Returns the route of one dispatch, outstanding until that dispatch ends its use.
  ///
  /// - Parameter isAccepted: Whether the dispatch was accepted before, so that it is not refused now.
  @inline(__always)  // on the path of each dispatch, with one caller per form of `dispatch`
  func route(
    to type: any ActionType.Type, identifier: String?, isAccepted: Bool = false,
    on thread: ThreadState
  ) -> Unmanaged<Route> {
    let key = RouteKey(
      dispatcher: number, actionType: ObjectIdentifier(type), storeIdentifier: identifier)
    yieldPoint(.lookUp, on: thread)
    return thread.routeCache.take(key) ?? findRoute(key, type, isAccepted, on: thread)
  }

  /// Looks a route up in the registry, and makes it if there is none.
  @inline(never)
  private func findRoute(
    _ key: RouteKey, _ type: any ActionType.Type, _ isAccepted: Bool, on thread: ThreadState
  ) -> Unmanaged<Route> {
    if isPlanted(.lateCopy), let copy = copyLate(key, type, on: thread) { return copy }
    var isNews = false
    var evicted: RouteCache.Evicted?
    let (found, chain, generation, acceptance) = registry.withLock {
      registry -> (Unmanaged<Route>?, MiddlewareChain, DispatchGeneration, Acceptance) in
      let (chain, acceptance) = (registry.chain, registry.presentAcceptance)
      if acceptance == .ended, !isAccepted { return (nil, chain, registry.generation, acceptance) }
      guard let shared = registry.route(for: key, type) else {
        return (nil, chain, registry.useGeneration(), acceptance)
      }
      if acceptance != .open { return (shared.use(), chain, registry.generation, acceptance) }
      isNews =
        shared.route.isUnanswered && type != WorkAcceptance.self
        && shared.route.chain.followers.isEmpty && registry.noteUnanswered(type)
      thread.fields.pointee.turn &+= 1
      let route: Unmanaged<Route>
      (route, evicted) = thread.routeCache.take(shared, turn: thread.fields.pointee.turn)
      return (route, chain, registry.generation, acceptance)
    }
    evicted?.retire()
    if isNews { reportNoResponder(to: type, key.storeIdentifier) }
    if isAccepted || accepts(acceptance, on: thread) {
      return found ?? ending(with: unknownStore(key.storeIdentifier!), chain, in: generation)
    }
    if let found { found._withUnsafeGuaranteedRef { $0.end() } }
    return ending(with: refusal, in: generation)
  }

  /// Whether a dispatch that this thread makes is accepted.
  ///
  /// Asked after the use of a route began: work inside a dispatch under way can't be the last of its generation.
  private func accepts(_ acceptance: Acceptance, on thread: ThreadState) -> Bool {
    acceptance == .open
      || acceptance == .closed && DispatchContext.isInside(of: number, on: thread)
  }

  /// Returns a route for one dispatch alone, which ends with an error.
  ///
  /// Unknown identifiers are not kept.
  private func ending(
    with error: DispatchError, _ chain: MiddlewareChain = MiddlewareChain(),
    in generation: DispatchGeneration
  ) -> Unmanaged<Route> {
    let route = Route([], chain: chain, failure: error, in: generation)
    route.retire(after: 1)
    return Unmanaged.passUnretained(route)
  }

  /// The gate at which dispatches to a registered store wait after their stores; nil for most.
  func endGate(ofStore identifier: String) -> EndGate? {
    registry.withLock { $0.entry(identifier)?.endGate }
  }

  func wasRegistered(_ identifier: String) -> Bool {
    registry.withLock { $0.wasRegistered(identifier) }
  }

  /// Unregisters the weakly owned stores that were released.
  ///
  /// Returns false if there is none.
  func unregisterGone(_ entries: [StoreEntry]) -> Bool {
    // Outside the lock, since this may release the last reference to a store.
    let gone = entries.filter(\.isGone)
    guard !gone.isEmpty else { return false }
    let removed = changeRegistry(.unregister) { registry -> [StoreEntry] in
      // Compared by sequence: the entry may be a member of the registered one, or of one that the registered one
      // replaced.
      gone.filter { registry.entry($0.identifier)?.sequence == $0.sequence }
        .compactMap { registry.remove($0.identifier) }
    }
    // Released outside the lock, with everything that their handlers have captured.
    withExtendedLifetime(removed) {}
    return true
  }

  private func unregisterReleased(_ entries: [StoreEntry]) {
    guard !entries.isEmpty else { return }
    _ = unregisterGone(entries)
    registry.withLock { $0.endSweep() }
  }

  /// The error of a dispatch that is not accepted.
  var refusal: DispatchError {
    // Only a pause refuses dispatches of an open dispatcher.
    if acceptance == .open {
      return DispatchError(
        code: .dispatcherPaused,
        message: """
          Dispatcher "\(name)" is paused by a recorder that travels. Dispatch again after resume().
          """)
    }
    return DispatchError(
      code: .dispatcherClosed,
      message: """
        Dispatcher "\(name)" is closed: it accepts only what dispatches under way dispatch, and nothing once these \
        have ended.
        """)
  }

  func unknownStore(_ identifier: String) -> DispatchError {
    DispatchError(
      code: .unknownStore,
      message: "No store is registered under \"\(identifier)\" with dispatcher \"\(name)\".",
      storeIdentifiers: [identifier])
  }
}

// MARK: - Acceptance

extension Dispatcher {
  var acceptance: Acceptance { registry.withLock(\.acceptance) }

  /// Returns a route of one dispatch alone to these entries.
  ///
  /// - Parameters:
  ///   - type: The type of the action, which the followers respond to.
  ///   - isPartOfPause: Whether it is taken during a pause, and calls no hook.
  func route(
    to entries: [StoreEntry], of type: any ActionType.Type, isPartOfPause: Bool,
    on thread: ThreadState
  ) -> Unmanaged<Route> {
    let (chain, generation, acceptance) = registry.withLock { registry in
      (registry.chain(for: type), registry.useGeneration(), registry.presentAcceptance)
    }
    guard isPartOfPause || accepts(acceptance, on: thread) else {
      return ending(with: refusal, in: generation)
    }
    let route = Route(
      entries, chain: isPartOfPause ? MiddlewareChain() : chain, isAtomic: true, in: generation)
    route.retire(after: 1)
    return .passUnretained(route)
  }
}

// MARK: - Warnings

extension Dispatcher {
  private func reportMissingReducer<Model, Action>(of store: Store<Model, Action>) {
    guard ReducerOverrides(of: store.reducer).answersNothing else { return }
    store.report(
      .reducerMissing,
      """
      Its reducer, \(type(of: store.reducer)), overrides none of reduce(into:action:), \
      apply(_:to:) and operation(for:in:): each action fails. Override one of them.
      """)
  }

  private func reportRepeated(
    _ store: any StoreType, isOther: Bool, _ waitFor: WaitFor, _ ownership: StoreOwnership,
    present entry: StoreEntry
  ) {
    report(
      .alreadyRegistered, of: store.identifier,
      """
      Store "\(store.identifier)" is registered with dispatcher "\(name)" already \
      (\(entry.ownership), \(entry.waitFor.summary)), and stays so. \
      \(isOther ? "Another \(type(of: store)) of that name" : "The same store") \
      (\(ownership), \(waitFor.summary)) was not registered. Use the store that register(store:) \
      returns, or unregister it first.
      """)
  }

  private func reportNoResponder(to type: any ActionType.Type, _ identifier: String?) {
    let place = identifier.map { "Store \"\($0)\" of" } ?? "No store of"
    report(
      .noResponder, of: identifier,
      """
      \(place) dispatcher "\(name)" \(identifier == nil ? "responds" : "does not respond") to \
      actions of type \(type). Such a dispatch succeeds, and further ones are not reported.
      """)
  }

  /// - Parameter names: Each store that refined its `waitFor`, with an identifier that is not registered.
  func reportAbsent(_ names: [(waiter: String, prerequisite: String)], for action: any ActionType) {
    for (waiter, prerequisite) in names {
      report(
        .absentPrerequisite, of: waiter,
        """
        Store "\(waiter)": Its reducer's waitFor for an action of type \(type(of: action)) names \
        "\(prerequisite)", under which no store is registered. It waits for the others only.
        """)
    }
  }
}
