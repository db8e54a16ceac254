/// Answers actions for a store.
///
/// Override one of three methods, the least that does:
///
/// - `reduce(into:action:)`, where an action is a plain change of the model;
/// - `apply(_:to:)`, where other stores are read before, or more is done than one change;
/// - `operation(for:in:)`, where the answer takes time, can be cancelled, or ends from elsewhere.
///
/// Where several are overridden, the last of them answers. An operation costs several times as much as
/// the other two, for which mostly none is made. The methods may be called on several threads at once, so a
/// reducer holds no mutable state. It needs no Sendable annotation: its store takes it over.
nonisolated open class Reducer<Model: Sendable, Action: ActionType> {
  /// Makes a reducer.
  public init() {}

  /// Returns the operation that answers an action: a new one for each call.
  ///
  /// Called where the operation is to run, after the middlewares. Dependencies that the reducer gives
  /// the operation, on operations that it made itself, are waited for in every mode.
  open func operation(
    for action: Action, in store: Store<Model, Action>
  ) -> ActionOperation<Model, Action> {
    guard ReducerOverrides(of: self).apply else {
      return .make(action, store, .reducing(self), isReduction: true)
    }
    nonisolated(unsafe) let reducer = self  // which holds no mutable state
    return .make(
      action, store, .returning { try reducer.apply($0, to: $1) }, isReduction: true)
  }

  /// Answers an action on the thread that runs it, outside the store's exclusive section: reads other
  /// stores, and updates its own.
  ///
  /// It has ended when it returns or throws. What it committed before an error was thrown stays, and the
  /// store fails with the error; for a `CancellationError` it ends as cancelled. By default the
  /// reduction as one commit.
  open func apply(_ action: Action, to store: Store<Model, Action>) throws {
    try store.updateModel { try reduce(into: &$0, action: action) }
  }

  /// Changes the model for an action, in the store's exclusive section: one commit.
  ///
  /// What was changed before an error is thrown is committed, and the operation fails with the error.
  open func reduce(into model: inout Model, action: Action) throws {
    throw DispatchError(
      code: .reducerMissing,
      message: """
        \(type(of: self)) answers no action: it overrides none of reduce(into:action:), apply(_:to:) \
        and operation(for:in:). Override one of them.
        """)
  }

  /// Whether observers are notified of what this action commits to its store.
  open func shouldNotifyObservers(for action: Action, in store: Store<Model, Action>) -> Bool {
    true
  }

  /// The stores that this one waits for, for this action; by default those it was registered with.
  ///
  /// Called once for each dispatch, on the dispatching thread, with the action as dispatched.
  ///
  /// - Parameter declared: What the store was registered with, to be kept, extended or replaced.
  open func waitFor(
    for action: Action, in store: Store<Model, Action>, declared: WaitFor
  ) -> WaitFor {
    declared
  }
}
