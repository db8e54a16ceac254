/// Answers actions for a store.
///
/// Override `operation(for:in:)`; or, where an action is a plain synchronous change of the model,
/// `reduce(into:action:)` and no more. The methods may be called on several threads at once, so a
/// reducer holds no mutable state. It needs no Sendable annotation: its store takes it over.
nonisolated open class Reducer<Model: Sendable, Action: ActionType> {
  /// Makes a reducer.
  public init() {}

  /// Returns the operation that answers an action: a new one for each call.
  ///
  /// Called where the operation is to run, after the middlewares. Dependencies that the reducer gives
  /// the operation, on operations of its own, are waited for in every mode.
  open func operation(
    for action: Action, in store: Store<Model, Action>
  ) -> ActionOperation<Model, Action> {
    ActionOperation.make(action, store, .reducing, isReduction: true)
  }

  /// Changes the model for an action, in the store's exclusive section: one commit.
  ///
  /// What was changed before an error is thrown is committed, and the operation fails with the error.
  open func reduce(into model: inout Model, action: Action) throws {
    throw DispatchError(
      code: .reducerMissing,
      message: """
        \(type(of: self)) answers no action: it overrides neither operation(for:in:) nor \
        reduce(into:action:). Override one of them.
        """)
  }

  /// Whether observers hear of what this action commits to its store.
  open func shouldNotifyObservers(for action: Action, in store: Store<Model, Action>) -> Bool {
    true
  }

  /// The stores that this one waits for, for this action; by default those it was registered with.
  ///
  /// Asked once for each dispatch, on the dispatching thread, for the action as dispatched.
  ///
  /// - Parameter declared: What the store was registered with, to be kept, extended or replaced.
  open func waitFor(
    for action: Action, in store: Store<Model, Action>, declared: WaitFor
  ) -> WaitFor {
    declared
  }
}
