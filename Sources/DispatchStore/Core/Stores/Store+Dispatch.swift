extension Store {
  /// Dispatches an action to this store alone, through the dispatcher that the store is registered with.
  ///
  /// Behaves like `Dispatcher.dispatch(_:to:mode:options:then:)`. Without a dispatcher, the completion runs on the
  /// calling thread, and the result's error is `notRegistered`.
  @discardableResult
  @inlinable
  public func dispatch(
    _ action: Action, mode: Dispatcher.Mode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(
      any: action, mode, options, completion.map(Completion.withResult), CallSite(fileID, line))
  }

  /// Dispatches an action of the store's type, or of a type for which it has a handler.
  @inlinable
  @inline(__always)
  func dispatch<Dispatched: ActionType>(
    any action: Dispatched, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle {
    guard let dispatcher else { return refuse(completion, callSite) }
    return dispatcher.dispatch(action, to: identifier, mode, options, completion, callSite)
  }

  /// Dispatches an action of the store's type, or of a type for which it has a handler, in the caller's own task.
  @inlinable
  @inline(__always)
  nonisolated(nonsending) func send<Sent: ActionType>(
    any action: Sent, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite
  ) async -> DispatchResult {
    guard let dispatcher else { return await refuse(completion, callSite).result }
    return await dispatcher.send(action, to: identifier, mode, options, completion, callSite)
  }

  @usableFromInline
  func refuse(_ completion: Completion?, _ callSite: CallSite) -> DispatchHandle {
    let error = DispatchError(
      code: .notRegistered,
      message: """
        An action was dispatched to store "\(identifier)" (\(callSite)), which is registered with no \
        dispatcher, or with one that is gone. Register it, and keep the dispatcher.
        """,
      storeIdentifiers: [identifier])
    return Dispatcher.default.makeFailed(with: error, completion, callSite)
  }
}
