extension Store where Action == HandledAction {
  /// Makes a store that responds to every action type for which it has a handler.
  ///
  /// - Parameters:
  ///   - identifier: The name to register it under; a unique one where none is given.
  ///   - model: The first model.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - handlers: Its handlers.
  public convenience init(
    identifier: String? = nil, model: Model, reads: StoreReads = .exclusive,
    handlers: Handlers<Model>
  ) {
    self.init(
      identifier: identifier, model: model, reads: reads, reducer: HandlerReducer(handlers))
  }

  /// Makes a store that responds to every action type for which it has a handler.
  ///
  /// - Parameters:
  ///   - identifier: The name to register it under; a unique one where none is given.
  ///   - model: The first model.
  ///   - reads: Whether reads may wait for a reduction in progress.
  ///   - handlers: Its handlers.
  public convenience init(
    identifier: String? = nil, model: Model, reads: StoreReads = .exclusive,
    @HandlerBuilder<Model> handlers: () -> Handlers<Model>
  ) {
    self.init(identifier: identifier, model: model, reads: reads, handlers: handlers())
  }

  /// The action types that it has handlers for.
  public var handledTypes: [any ActionType.Type] { handlerReducer.table.all.map(\.actionType) }

  /// Adds handlers, at any time, from any thread; for an action type that had one, the new one takes its place.
  ///
  /// A dispatch in flight keeps those that the store had when it was dispatched. In a registered store this touches the
  /// routes of these action types, and of its identifier, and no others.
  public func handle(_ handlers: Handlers<Model>) {
    changeHandlers { $0.add(handlers) }
  }

  /// Adds handlers, at any time, from any thread; for an action type that had one, the new one takes its place.
  ///
  /// As the method that takes them as a value.
  public func handle(@HandlerBuilder<Model> _ handlers: () -> Handlers<Model>) {
    handle(handlers())
  }

  /// Removes the handlers of an action type: the store no longer responds to that.
  ///
  /// - Returns: Whether it had one.
  @discardableResult
  public func stopHandling<Removed: ActionType>(_ type: Removed.Type) -> Bool {
    changeHandlers { $0.remove(type) }
  }

  private func changeHandlers<Result>(_ body: (inout HandlerTable<Model>) -> Result) -> Result {
    let result = handlerReducer.change(body)
    // A registration that has not seen the change has entered the store before.
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

// Dispatching: an action of any type.
extension Store where Action == HandledAction {
  /// Dispatches an action to this store alone, through the dispatcher that it is registered with.
  ///
  /// As `Dispatcher.dispatch(storeIdentifier:action:mode:options:then:)`. Without a dispatcher the completion
  /// runs here, and the result's error is `notRegistered`.
  @discardableResult
  @inlinable
  public func dispatch(
    _ action: some ActionType, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(), then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(any: action, mode, options, completion.map(Completion.plain), fileID, line)
  }

  /// Dispatches an action to this store alone; the completion gets the result.
  ///
  /// As the method whose completion takes no argument, in all else.
  @discardableResult
  @inlinable
  public func dispatch(
    _ action: some ActionType, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: @escaping @Sendable (DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(any: action, mode, options, .withResult(completion), fileID, line)
  }

  /// Dispatches actions of any types, one after the other, to this store alone.
  ///
  /// As `Dispatcher.dispatch(storeIdentifier:actions:mode:options:then:)`.
  @discardableResult
  public func dispatch(
    _ actions: [any ActionType], mode: Dispatcher.Mode = .serial,
    options: DispatchOptions = DispatchOptions(), then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(all: actions, mode, options, completion.map(Completion.plain), fileID, line)
  }

  /// Dispatches an action to this store alone, in the caller's own task.
  ///
  /// As `Dispatcher.send(_:to:mode:options:then:)`. Without a dispatcher the completion runs here, and the result's
  /// error is `notRegistered`.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send(
    _ action: some ActionType, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchResult {
    await send(
      any: action, mode, options, completion.map(Completion.withResult), fileID, line)
  }

  /// Dispatches a replying action to this store alone, in the caller's own task; the result has its reply.
  ///
  /// As the method for actions without replies, in all else.
  @discardableResult
  @inlinable
  public nonisolated(nonsending) func send<Replying: ReplyingAction>(
    _ action: Replying, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Replying.Reply> {
    ReplyResult(
      await send(any: action, mode, options, completion.map(Completion.withResult), fileID, line))
  }
}
