extension Dispatcher {
  /// Dispatches an action.
  ///
  /// Runs every store that responds to the action. With `.sync` the dispatch has run before this returns; the other
  /// modes return at once. May be called from any code, in every mode.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - action: The action.
  ///   - mode: The thread and the order in which the dispatch runs.
  ///   - options: Further options.
  ///   - completion: Runs exactly once at the end, also after a failure.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: A handle to await, to cancel, or for `after`; releasing it cancels nothing.
  @discardableResult
  @inlinable
  public func dispatch<Action: ActionType>(
    storeIdentifier: String? = nil, action: Action, mode: Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(
      action, to: storeIdentifier, mode, options, completion.map(Completion.plain), fileID, line)
  }

  /// Dispatches an action; the completion gets the result.
  ///
  /// Behaves in all else like the method whose completion takes no argument.
  @discardableResult
  @inlinable
  public func dispatch<Action: ActionType>(
    storeIdentifier: String? = nil, action: Action, mode: Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    then completion: @escaping @Sendable (DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    dispatch(action, to: storeIdentifier, mode, options, .withResult(completion), fileID, line)
  }

  /// Dispatches actions one after the other.
  ///
  /// Each action begins when the one before it has ended. The first action that fails, is vetoed or is cancelled ends
  /// the sequence, unless `options` continues on failure. In `serial` and `mainThread`, the sequence holds its lane
  /// from first to last. An empty list succeeds at once. Parameters and result are those of the method for one
  /// action.
  @discardableResult
  public func dispatch(
    storeIdentifier: String? = nil, actions: [AnyAction], mode: Mode = .serial,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable () -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    enqueue(
      actions, to: storeIdentifier, mode: mode, options: options, completion.map(Completion.plain),
      fileID, line)
  }

  /// Dispatches actions one after the other; the completion gets the result.
  ///
  /// Behaves in all else like the method whose completion takes no argument.
  @discardableResult
  public func dispatch(
    storeIdentifier: String? = nil, actions: [AnyAction], mode: Mode = .serial,
    options: DispatchOptions = DispatchOptions(),
    then completion: @escaping @Sendable (DispatchResult) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    enqueue(
      actions, to: storeIdentifier, mode: mode, options: options, .withResult(completion), fileID,
      line)
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
    _ options: DispatchOptions, _ completion: Completion?, _ fileID: StaticString,
    _ line: UInt
  ) -> DispatchHandle {
    if mode.isSync, !options.isControlled, options.after.isEmpty || options.unended.isEmpty {
      return withUnsafePointer(to: action) {
        run(
          UnsafeRawPointer($0), of: type(of: action), to: storeIdentifier, completion, fileID, line)
      }
    }
    return enqueue(
      action, of: type(of: action), to: storeIdentifier, mode: mode, options: options, completion,
      fileID, line)
  }
}
