extension Dispatcher {
  /// Dispatches an action.
  ///
  /// Runs every store that responds to the action. With `.sync` the dispatch has run before this returns; the other
  /// modes return at once. May be called from any code, in every mode.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The thread and the order in which the dispatch runs.
  ///   - options: Further options.
  ///   - completion: Gets the result. Runs exactly once at the end, also after a failure.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: A handle to await, to cancel, or for `after`; releasing it cancels nothing.
  @discardableResult
  @inlinable
  public func dispatch<Action: ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Mode = .async,
    options: DispatchOptions = [], then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(
      action, to: storeIdentifier, mode, options, completion.map(Completion.withResult),
      CallSite(fileID, line))
  }

  /// Dispatches an action; the completion takes no argument.
  ///
  /// Behaves in all else like `dispatch(_:to:mode:options:then:)`.
  @discardableResult
  @inlinable
  public func dispatch<Action: ActionType>(
    storeIdentifier: String? = nil, action: Action, mode: Mode = .async,
    options: DispatchOptions = [], then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(
      action, to: storeIdentifier, mode, options, completion.map(Completion.plain),
      CallSite(fileID, line))
  }

  /// Dispatches actions one after the other.
  ///
  /// Each action begins when the one before it has ended. The first action that fails, is vetoed or is cancelled ends
  /// the sequence, unless `options` continues on failure. In `serial` and `mainThread`, the sequence holds its lane
  /// from first to last. An empty list succeeds at once. The handle's result has the results of the actions in
  /// `steps`.
  @discardableResult
  public func dispatch(
    storeIdentifier: String? = nil, actions: [AnyAction], mode: Mode = .serial,
    options: DispatchOptions = [], then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    enqueue(
      actions, to: storeIdentifier, mode: mode, options: options, completion.map(Completion.plain),
      CallSite(fileID, line))
  }
}

extension Dispatcher {
  /// Dispatches an action.
  ///
  /// Inlined into the caller, so that a `.sync` action is not copied, and any other is copied once.
  @inlinable
  @inline(__always)
  func dispatch<Action: ActionType>(
    _ action: Action, to storeIdentifier: String?, _ mode: Mode,
    _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle {
    if mode.isSync, !options.isControlled, options.after.isEmpty || options.unended.isEmpty {
      return withUnsafePointer(to: action) {
        run(UnsafeRawPointer($0), of: type(of: action), to: storeIdentifier, completion, callSite)
      }
    }
    return enqueue(
      action, of: type(of: action), to: storeIdentifier, mode: mode, options: options, completion,
      callSite)
  }
}
