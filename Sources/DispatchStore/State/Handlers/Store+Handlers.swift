extension Store where Action == HandledAction {
  /// Makes a store that responds to every action type for which it has a handler.
  ///
  /// - Parameters:
  ///   - identifier: The name to register the store under. A unique one if nil.
  ///   - model: The first model.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - handlers: The store's handlers.
  public convenience init(
    identifier: String? = nil, model: Model, reads: StoreReads = .exclusive,
    @ListBuilder<Handlers<Model>> handlers: () -> [Handlers<Model>]
  ) {
    self.init(
      identifier: identifier, model: model, reads: reads,
      reducer: HandlerReducer(Handlers(handlers)))
  }

  /// The action types for which the store has handlers.
  public var handledTypes: [any ActionType.Type] { handlerReducer.table.all.map(\.actionType) }

  /// Adds handlers, at any time, from any thread.
  ///
  /// A new handler replaces the one that its action type had.
  ///
  /// A dispatch in flight keeps the handlers that the store had when it was dispatched. In a registered store, the routes
  /// of all action types that it handles are made anew: add several handlers in one call.
  public func handle(@ListBuilder<Handlers<Model>> _ handlers: () -> [Handlers<Model>]) {
    let handlers = Handlers(handlers)
    changeHandlers { $0.add(handlers) }
  }

  /// Removes the handler of an action type: the store no longer responds to that type.
  ///
  /// - Returns: Whether the store had one.
  @discardableResult
  public func stopHandling<Removed: ActionType>(_ type: Removed.Type) -> Bool {
    changeHandlers { $0.remove(type) }
  }

  private func changeHandlers<Result>(_ body: (inout HandlerTable<Model>) -> Result) -> Result {
    let result = handlerReducer.change(body)
    // A registration that missed the change has already set `dispatcher`, so the entry is replaced here.
    dispatcher?.replaceEntry(of: self)
    return result
  }

  private var handlerReducer: HandlerReducer<Model> {
    guard let handlers = reducer as? HandlerReducer<Model> else {
      stopProgram(
        """
        Store "\(identifier)" has a \(type(of: reducer)), which is a class, and no handlers. Make the store by \
        Store(identifier:model:handlers:).
        """)
    }
    return handlers
  }
}

// Dispatches of actions of any type.
extension Store where Action == HandledAction {
  /// Dispatches an action to this store alone, through the dispatcher that the store is registered with.
  ///
  /// Behaves like `Dispatcher.dispatch(_:to:mode:options:then:)`. Without a dispatcher, the completion runs on the
  /// calling thread, and the result's error is `notRegistered`.
  @discardableResult
  @inlinable
  public func dispatch(
    _ action: some ActionType, mode: Dispatcher.Mode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(
      any: action, mode, options, completion.map(Completion.withResult), CallSite(fileID, line))
  }

  /// Dispatches an action to this store alone, through its dispatcher, in the caller's own task.
  ///
  /// Behaves like `Dispatcher.send(_:to:mode:options:then:)`. If the store has no dispatcher, the completion runs
  /// here, and the result's error is `notRegistered`.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send<Sent: ActionType>(
    _ action: Sent, mode: Dispatcher.SendMode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Sent.Reply> {
    ReplyResult(
      await send(
        any: action, mode.mode, options, completion.map(Completion.withResult),
        CallSite(fileID, line)))
  }
}

extension Dispatcher {
  /// Replaces the registration of a store that responds to other action types from now on.
  fileprivate func replaceEntry<Model, Action>(of store: Store<Model, Action>) {
    let (former, present) = changeRegistry(.register) {
      registry -> (StoreEntry?, (any StoreType)?) in
      guard let entry = registry.entry(store.identifier) else { return (nil, nil) }
      let present = entry.store
      guard present === store else { return (nil, present) }
      registry.replace(entry, by: store.reducer.makeEntry(of: store, entry.registration))
      return (entry, present)
    }
    // Released outside the lock: the entry with everything that its handlers have captured, and a store that is held
    // weakly, and may have no other owner by now.
    withExtendedLifetime((former, present)) {}
  }
}
