extension Dispatcher {
  /// Dispatches an action through the default dispatcher; see the instance method.
  @discardableResult
  public static func dispatch<Action: ActionType>(
    storeIdentifier: String? = nil, action: Action, mode: Mode = .async,
    options: DispatchOptions = [], then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    `default`.dispatch(
      action, to: storeIdentifier, mode, options, completion.map(Completion.plain),
      CallSite(fileID, line))
  }

  /// Dispatches actions one after the other through the default dispatcher; see the instance method.
  @discardableResult
  public static func dispatch(
    storeIdentifier: String? = nil, actions: [AnyAction], mode: Mode = .serial,
    options: DispatchOptions = [], then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    `default`.enqueue(
      actions, to: storeIdentifier, mode: mode, options: options, completion.map(Completion.plain),
      CallSite(fileID, line))
  }
}
