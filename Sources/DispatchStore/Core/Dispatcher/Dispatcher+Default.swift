extension Dispatcher {
  /// Dispatches an action through the default dispatcher; see the instance method.
  @discardableResult
  public static func dispatch<Action: DispatchStore::ActionType>(
    storeIdentifier: String? = nil, action: Action, mode: Mode = .async,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchStore::DispatchHandle {
    `default`.dispatch(
      action, to: storeIdentifier, mode, options, completion.map(Completion.plain), fileID, line)
  }

  /// Dispatches an action through the default dispatcher; see the instance method.
  @discardableResult
  public static func dispatch<Action: DispatchStore::ActionType>(
    storeIdentifier: String? = nil, action: Action, mode: Mode = .async,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: @escaping @Sendable (DispatchStore::DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchStore::DispatchHandle {
    `default`.dispatch(
      action, to: storeIdentifier, mode, options, .withResult(completion), fileID, line)
  }

  /// Dispatches actions one after the other through the default dispatcher; see the instance method.
  @discardableResult
  public static func dispatch(
    storeIdentifier: String? = nil, actions: [DispatchStore::AnyAction], mode: Mode = .serial,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchStore::DispatchHandle {
    `default`.enqueue(
      actions, to: storeIdentifier, mode: mode, options: options, completion.map(Completion.plain),
      fileID, line)
  }

  /// Dispatches actions one after the other through the default dispatcher; see the instance method.
  @discardableResult
  public static func dispatch(
    storeIdentifier: String? = nil, actions: [DispatchStore::AnyAction], mode: Mode = .serial,
    options: DispatchStore::DispatchOptions = DispatchStore::DispatchOptions(),
    then completion: @escaping @Sendable (DispatchStore::DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchStore::DispatchHandle {
    `default`.enqueue(
      actions, to: storeIdentifier, mode: mode, options: options, .withResult(completion), fileID,
      line)
  }
}
