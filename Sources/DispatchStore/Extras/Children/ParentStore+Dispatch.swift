// Used by children; `Store` has its own methods of these names.
extension ParentStore {
  /// The identifier of the store.
  public var identifier: String { asOptionalChild.part.root.storage.identifier }

  /// The number of the store's commits so far, whichever part they changed.
  public var version: UInt64 {
    let (storage, thread) = (asOptionalChild.part.root.storage, ThreadState.current)
    if thread.isInSection {
      AtomicStep.checkRead(of: storage, on: thread)
      return storage.version
    }
    storage.noteRead(on: thread)
    return storage.withLock { _ in storage.version }
  }

  /// Dispatches an action to the child's store alone, through its dispatcher.
  ///
  /// Behaves like `Store.dispatch(_:mode:options:then:)`.
  @inlinable
  @discardableResult
  public func dispatch(
    _ action: Action, mode: Dispatcher.Mode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    asOptionalChild.part.actions.dispatch(
      action, mode, options, completion.map(Completion.withResult), CallSite(fileID, line))
  }

  /// Dispatches an action to the child's store alone, in the caller's own task.
  ///
  /// Behaves like `Store.send(_:mode:options:then:)`.
  @inlinable
  @discardableResult
  public nonisolated(nonsending) func send(
    _ action: Action, mode: Dispatcher.SendMode = .async, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    ReplyResult(
      await asOptionalChild.part.actions.send(
        action, mode.mode, options, completion.map(Completion.withResult),
        CallSite(fileID, line)))
  }
}
