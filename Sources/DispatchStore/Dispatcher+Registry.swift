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
    let home = store.enter(self)
    precondition(
      home === self,
      """
      Store "\(store.identifier)" can't be registered with dispatcher "\(name)": it belongs to \
      dispatcher "\(home.name)". Unregister it there first, or make a store for each.
      """)
    let present = registry.withLock { registry -> (any StoreType)? in
      if let present = registry.entry(store.identifier)?.store { return present }
      _ = registry.remove(store.identifier)
      registry.insert { sequence in
        TypedStoreEntry(store, sequence: sequence, waitFor: waitFor, ownership: ownership)
      }
      return nil
    }
    guard let present, present !== store else { return store }
    store.leaveDispatcher()
    guard let same = present as? Store<Model, Action> else {
      preconditionFailure(
        """
        Store identifier "\(store.identifier)" is taken in dispatcher "\(name)": a \
        \(type(of: present)) has it, and a \(type(of: store)) was to be registered. Give one of them \
        another identifier.
        """)
    }
    return same
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
    entry?.departed()
    return entry != nil
  }

  /// Unregisters the store with this identifier, and returns it.
  @discardableResult
  public func unregister(storeIdentifier: String) -> AnyStore? {
    let entry = registry.withLock { $0.remove(storeIdentifier) }
    entry?.departed()
    return entry?.store
  }

  /// Unregisters all stores of a type, and returns them, in order of registration.
  @discardableResult
  public func unregister<Model, Action>(
    storesOfType type: Store<Model, Action>.Type
  ) -> [Store<Model, Action>] {
    let entries = registry.withLock { registry in
      registry.removeAll { $0 is TypedStoreEntry<Model, Action> }
    }
    for entry in entries { entry.departed() }
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
    let (entries, middlewares) = registry.withLock { registry in
      let entries =
        storeIdentifier.map { registry.entry($0).map { [$0] } } ?? registry.responders(to: type)
      return (entries, registry.middlewares)
    }
    guard let entries else { throw unknown(storeIdentifier!) }
    return (
      present(entries).filter { storeIdentifier == nil || $0.responds(to: type) },
      MiddlewareChain(middlewares: middlewares)
    )
  }

  func wasRegistered(_ identifier: String) -> Bool {
    registry.withLock { $0.wasRegistered(identifier) }
  }

  /// Those that were not held weakly and are gone; what is gone leaves the registry too.
  private func present(_ entries: [StoreEntry]) -> [StoreEntry] {
    let present = entries.filter { $0.store != nil }
    if present.count < entries.count {
      registry.withLock { registry in
        for entry in entries where entry.store == nil {
          if registry.entry(entry.identifier) === entry { _ = registry.remove(entry.identifier) }
        }
      }
    }
    return present
  }

  private func unknown(_ identifier: String) -> DispatchError {
    DispatchError(
      code: .unknownStore,
      message: "No store was ever registered under \"\(identifier)\" with dispatcher \"\(name)\".",
      storeIdentifiers: [identifier])
  }
}
