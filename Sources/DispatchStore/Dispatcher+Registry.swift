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
    let found = registry.withLock { registry -> Found in
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
    let entry = registry.withLock { registry -> StoreEntry? in
      guard registry.entry(store.identifier)?.store === store else { return nil }
      return registry.remove(store.identifier)
    }
    return entry != nil
  }

  /// Unregisters the store with this identifier, and returns it.
  @discardableResult
  public func unregister(storeIdentifier: String) -> AnyStore? {
    registry.withLock { $0.remove(storeIdentifier) }?.store
  }

  /// Unregisters all stores of a type, and returns them, in order of registration.
  @discardableResult
  public func unregister<Model, Action>(
    storesOfType type: Store<Model, Action>.Type
  ) -> [Store<Model, Action>] {
    let entries = registry.withLock { registry in
      registry.removeAll { $0 is TypedStoreEntry<Model, Action> }
    }
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
    registry.withLock { $0.insert(middleware) }
  }

  /// Unregisters a middleware; where it has heard of a dispatch, it still hears of its end.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  public func unregister(middleware: any Middleware) -> Bool {
    !registry.withLock { $0.removeMiddlewares { $0 === middleware } }.isEmpty
  }

  /// Unregisters all middlewares of a type, and returns them, in order of registration.
  @discardableResult
  public func unregister<Kind: Middleware>(middlewaresOfType type: Kind.Type) -> [Kind] {
    registry.withLock { $0.removeMiddlewares { $0 is Kind } }.compactMap { $0 as? Kind }
  }

  /// The registered middlewares, in order of registration.
  public var middlewares: [any Middleware] {
    registry.withLock { $0.middlewares }
  }
}

extension Dispatcher {
  /// The stores that an action of this type goes to, and the middlewares: what a dispatch keeps.
  func snapshot(
    of type: any ActionType.Type, for storeIdentifier: String?
  ) throws(DispatchError) -> ([StoreEntry], MiddlewareChain) {
    let (entries, middlewares) = registry.withLock {
      registry -> ([StoreEntry]?, [any Middleware]) in
      (registry.responders(to: type, identifier: storeIdentifier), registry.middlewares)
    }
    guard let entries else { throw unknown(storeIdentifier!) }
    var present = present(entries)
    // Those found by type respond to it; one found by its identifier need not.
    if storeIdentifier != nil { present.removeAll { !$0.responds(to: type) } }
    return (present, MiddlewareChain(middlewares: middlewares))
  }

  func wasRegistered(_ identifier: String) -> Bool {
    registry.withLock { $0.wasRegistered(identifier) }
  }

  /// Those that were not held weakly and are gone; what is gone leaves the registry too.
  private func present(_ entries: [StoreEntry]) -> [StoreEntry] {
    guard entries.contains(where: \.isGone) else { return entries }
    registry.withLock { registry in
      for entry in entries where entry.isGone {
        if registry.entry(entry.identifier) === entry { _ = registry.remove(entry.identifier) }
      }
    }
    return entries.filter { !$0.isGone }
  }

  private func unknown(_ identifier: String) -> DispatchError {
    DispatchError(
      code: .unknownStore,
      message: "No store was ever registered under \"\(identifier)\" with dispatcher \"\(name)\".",
      storeIdentifiers: [identifier])
  }
}
