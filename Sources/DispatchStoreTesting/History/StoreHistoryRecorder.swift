public import DispatchStore

/// Records dispatches to stores of one type, and reads of their models.
///
/// ```swift
/// let recorder = StoreHistoryRecorder<Counter, CounterAction>()
/// ```
public typealias StoreHistoryRecorder<Model: Equatable & Sendable, Action: ActionType> =
  HistoryRecorder<StoreOperation<Action>, StoreResponse<Model>>

extension HistoryRecorder {
  /// Dispatches an action to one store, and records it as an operation.
  ///
  /// The operation's call is this call, and its return is the dispatch's completion, in every mode. Dispatches that a
  /// process does not await overlap, and may take effect in any order, even if their lane orders them.
  ///
  /// - The store finished, or its reducer threw: The recorder adds the response.
  /// - The store run was vetoed, or the dispatch refused: The recorder withdraws the operation.
  /// - The action was atomic, and failed: The recorder withdraws the operation, because its changes were undone.
  /// - The dispatch got the result of an earlier one with the same idempotency key: The recorder withdraws the
  ///   operation, because it had no effect of its own.
  /// - The dispatch was cancelled, timed out or failed with a `DispatchError`: The recorder leaves the operation
  ///   pending.
  ///
  /// An action that a middleware replaced is recorded as it was dispatched. Don't pass an option by which changes are made
  /// several times (`.retry`): the check knows one attempt.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - store: The store, registered with a dispatcher.
  ///   - mode: The mode of the dispatch.
  ///   - options: Further options of the dispatch.
  ///   - process: The process that dispatches: a thread, a task, a client.
  ///   - completion: Run exactly once at the end, after the return was recorded.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: A handle to await or cancel.
  @discardableResult
  public func dispatch<Model, Action>(
    _ action: Action, to store: Store<Model, Action>, mode: Dispatcher.Mode, on process: String,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle
  where Operation == StoreOperation<Action>, Response == StoreResponse<Model> {
    let identifier = store.identifier
    let call = begin(.dispatch(action, to: identifier), on: process)
    return store.dispatch(
      action, mode: mode, options: options,
      then: { result in
        call.returned(with: result, of: identifier)
        completion?(result)
      }, fileID: fileID, line: line)
  }

  /// Dispatches an action to all stores that respond to it, and records an operation for each of some stores.
  ///
  /// Each store has a separate operation in the history, because the library promises no common instant for several
  /// stores. Calls, returns and responses are recorded as for a dispatch to one store.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - dispatcher: The dispatcher.
  ///   - stores: The stores to record. Operations of stores that do not respond are withdrawn.
  ///   - mode: The mode of the dispatch.
  ///   - options: Further options of the dispatch.
  ///   - process: The process that dispatches: a thread, a task, a client.
  ///   - completion: Run exactly once at the end, after the return was recorded.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: A handle to await or cancel.
  @discardableResult
  public func dispatch<Model, Action>(
    _ action: Action, through dispatcher: Dispatcher, to stores: [Store<Model, Action>],
    mode: Dispatcher.Mode, on process: String,
    options: DispatchOptions = DispatchOptions(),
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle
  where Operation == StoreOperation<Action>, Response == StoreResponse<Model> {
    let calls = stores.map { store in
      (store.identifier, begin(.dispatch(action, to: store.identifier), on: process))
    }
    return dispatcher.dispatch(
      action, mode: mode, options: options,
      then: { result in
        for (identifier, call) in calls { call.returned(with: result, of: identifier) }
        completion?(result)
      }, fileID: fileID, line: line)
  }

  /// Reads a store's model, and records the read.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - process: The process that reads: a thread, a task, a client.
  @discardableResult
  public func read<Model, Action>(_ store: Store<Model, Action>, on process: String) -> Model
  where Operation == StoreOperation<Action>, Response == StoreResponse<Model> {
    let call = begin(.read(store.identifier), on: process)
    let model = store.model
    call.returned(.model(model))
    return model
  }
}

extension RecordedCall {
  /// Records the outcome of a dispatch for a store; called in its completion.
  fileprivate func returned<Model, Action>(
    with result: DispatchResult, of storeIdentifier: String
  ) where Operation == StoreOperation<Action>, Response == StoreResponse<Model> {
    // A repeat has the result of the dispatch that had the effect.
    if let own = DispatchID.current, own != result.dispatchID { return withdraw() }
    switch result[storeIdentifier] {
    case .finished: returned(.finished)
    case .vetoed, .notInvolved: withdraw()
    case .failed where !result.hasStarted: withdraw()
    case .cancelled(hasStarted: false) where result.isRefusal: withdraw()
    // Pending: an operation that the dispatcher ended may or may not have changed the model.
    case .cancelled, .failed(is DispatchError): break
    case .failed(let error): returned(.failed("\(error)"))
    }
  }
}

extension DispatchResult {
  /// Whether the dispatcher has decided that stores which have not started never will.
  ///
  /// After a time limit, stores that run regardless may still start.
  fileprivate var isRefusal: Bool { dispatchError.map { $0.code != .timedOut } ?? false }
}
