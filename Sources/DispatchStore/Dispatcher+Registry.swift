import Synchronization

extension Dispatcher {
  /// Registers a store, at any time, from any thread; a dispatch under way keeps its snapshot.
  ///
  /// A store belongs to one dispatcher. Constant in time, however many stores there are.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - waitFor: The stores that it waits for, registered earlier or later.
  ///   - ownership: Whether the dispatcher keeps it alive.
  /// - Returns: The store registered under its identifier: this one, or one of the same type that was
  ///   there already, and stays as it was registered.
  /// - Precondition: No store of another type has the identifier; no other dispatcher has the store.
  @discardableResult
  public func register<Model, Action>(
    store: Store<Model, Action>, waitFor: WaitFor = .none, ownership: StoreOwnership = .strong
  ) -> Store<Model, Action> {
    let found = changeRegistry(.register) { registry -> Found in
      let home = store.enter(self)
      guard home === self else { return .elsewhere(home) }
      if let present = registry.entry(store.identifier)?.store {
        if present !== store { store.leaveDispatcher() }
        return .present(present)
      }
      _ = registry.remove(store.identifier)
      registry.insert { sequence in
        TypedStoreEntry(store, sequence: sequence, waitFor: waitFor, ownership: ownership)
      }
      return .none
    }
    switch found {
    case .none:
      return store
    case .present(let present):
      if let same = present as? Store<Model, Action> { return same }
      preconditionFailure(
        """
        Store identifier "\(store.identifier)" is taken in dispatcher "\(name)": a \
        \(type(of: present)) has it, and a \(type(of: store)) was to be registered. Give one of them \
        another identifier.
        """)
    case .elsewhere(let home):
      preconditionFailure(
        """
        Store "\(store.identifier)" can't be registered with dispatcher "\(name)": it belongs to \
        dispatcher "\(home.name)". Unregister it there first, or make a store for each.
        """)
    }
  }

  /// What a registration finds.
  private enum Found {
    case none
    /// A store that has the identifier.
    case present(any StoreType)
    /// The store belongs to another dispatcher.
    case elsewhere(Dispatcher)
  }

  /// Unregisters a store; dispatches under way go on with it.
  ///
  /// - Returns: Whether it was registered here.
  @discardableResult
  public func unregister(store: AnyStore) -> Bool {
    let entry = changeRegistry(.unregister) { registry -> StoreEntry? in
      guard registry.entry(store.identifier)?.store === store else { return nil }
      return registry.remove(store.identifier)
    }
    if entry != nil { forgetEverywhere() }
    return entry != nil
  }

  /// Unregisters the store with this identifier, and returns it.
  @discardableResult
  public func unregister(storeIdentifier: String) -> AnyStore? {
    let entry = changeRegistry(.unregister) { $0.remove(storeIdentifier) }
    if entry != nil { forgetEverywhere() }
    return entry?.store
  }

  /// Unregisters all stores of a type, and returns them, in order of registration.
  @discardableResult
  public func unregister<Model, Action>(
    storesOfType type: Store<Model, Action>.Type
  ) -> [Store<Model, Action>] {
    let entries = changeRegistry(.unregister) { registry in
      registry.removeAll { $0 is TypedStoreEntry<Model, Action> }
    }
    forgetEverywhere()
    return entries.compactMap { $0.store as? Store<Model, Action> }
  }

  /// The store with this identifier.
  public func store(with identifier: String) -> AnyStore? {
    registry.withLock { $0.entry(identifier)?.store }
  }

  /// The store with this identifier, where it is of this type.
  public func store<Model, Action>(
    with identifier: String, as type: Store<Model, Action>.Type
  ) -> Store<Model, Action>? {
    store(with: identifier) as? Store<Model, Action>
  }

  /// The registered stores, in order of registration.
  public var stores: [AnyStore] {
    registry.withLock { $0.stores }
  }

  /// Registers a middleware, behind those that are registered; once, however often this is called.
  public func register(middleware: any Middleware) {
    changeRegistry(.register) { $0.insert(middleware) }
  }

  /// Unregisters a middleware; where it has heard of a dispatch, it still hears of its end.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  public func unregister(middleware: any Middleware) -> Bool {
    let removed = changeRegistry(.unregister) { $0.removeMiddlewares { $0 === middleware } }
    forgetEverywhere()
    return !removed.isEmpty
  }

  /// Unregisters all middlewares of a type, and returns them, in order of registration.
  @discardableResult
  public func unregister<Kind: Middleware>(middlewaresOfType type: Kind.Type) -> [Kind] {
    let removed = changeRegistry(.unregister) { $0.removeMiddlewares { $0 is Kind } }
    forgetEverywhere()
    return removed.compactMap { $0 as? Kind }
  }

  /// The registered middlewares, in order of registration.
  public var middlewares: [any Middleware] {
    registry.withLock { $0.middlewares }
  }
}

extension Dispatcher {
  /// Changes the registry: what threads have noted of it is out of date from then on.
  private func changeRegistry<Result>(
    _ transition: Transition, _ body: (inout Registry) -> Result
  ) -> Result {
    yieldPoint(transition)
    return registry.withLock { registry in
      defer {
        isWitnessed.store(!registry.witnesses.isEmpty, ordering: .releasing)
        registryVersion.wrappingAdd(1, ordering: .releasing)
      }
      return body(&registry)
    }
  }

  /// Something has left the registry: no thread is to keep it.
  private func forgetEverywhere() {
    RouteCache.forget(number)
  }

  /// Those that an action of this type goes to, given out to one dispatch, which has to say its end.
  @inline(__always)
  func responders(
    to type: any ActionType.Type, identifier: String?, on thread: ThreadState
  ) throws(DispatchError) -> Unmanaged<Route> {
    let key = noteKey(ObjectIdentifier(type), identifier)
    if let known = knownRoute(key, on: thread) { return known }
    return try lookUp(key, type, on: thread)
  }

  @inline(__always)
  func noteKey(_ type: ObjectIdentifier, _ identifier: String?) -> RouteCache.Key {
    RouteCache.Key(dispatcher: number, actionType: type, storeIdentifier: identifier)
  }

  /// The same as this thread has noted them, if it has and they are up to date.
  @inline(__always)
  func knownRoute(
    _ key: RouteCache.Key, on thread: ThreadState
  ) -> Unmanaged<Route>? {
    yieldPoint(.lookUp, on: thread)
    return thread.routeCache.take(
      key, version: registryVersion.load(ordering: .acquiring), on: thread)
  }

  @inline(never)
  private func lookUp(
    _ key: RouteCache.Key, _ type: any ActionType.Type, on thread: ThreadState
  ) throws(DispatchError) -> Unmanaged<Route> {
    let identifier = key.storeIdentifier
    let (found, middlewares, version) = registry.withLock {
      registry -> ([StoreEntry]?, [any Middleware], UInt64) in
      (
        registry.responders(to: type, identifier: identifier), registry.middlewares,
        registryVersion.load(ordering: .relaxed)
      )
    }
    guard var entries = found else { throw unknown(identifier!) }
    // Those found by type respond to it; one found by its identifier need not.
    if identifier != nil { entries.removeAll { !$0.responds(to: type) } }
    let order = try? WaitOrder(
      entries.map { WaitOrder.Participant(identifier: $0.identifier, waitFor: $0.waitFor) },
      wasRegistered: wasRegistered)
    let responders = Route(
      entries, order: order, chain: MiddlewareChain(middlewares: middlewares))
    let given = thread.routeCache.put(responders, for: key, version: version, on: thread)
    // What left the registry meanwhile was not found in the note, which would keep it.
    if registryVersion.load(ordering: .acquiring) != version {
      thread.routeCache.drop(key, version: version, on: thread)
    }
    return given
  }

  func wasRegistered(_ identifier: String) -> Bool {
    registry.withLock { $0.wasRegistered(identifier) }
  }

  /// Those that were not held weakly and are gone; what is gone leaves the registry too.
  func present(_ entries: [StoreEntry]) -> [StoreEntry] {
    guard entries.contains(where: \.isGone) else { return entries }
    changeRegistry(.unregister) { registry in
      for entry in entries where entry.isGone {
        if registry.entry(entry.identifier) === entry { _ = registry.remove(entry.identifier) }
      }
    }
    forgetEverywhere()
    return entries.filter { !$0.isGone }
  }

  private func unknown(_ identifier: String) -> DispatchError {
    DispatchError(
      code: .unknownStore,
      message: "No store was ever registered under \"\(identifier)\" with dispatcher \"\(name)\".",
      storeIdentifiers: [identifier])
  }
}
