/// Handles a store's actions.
///
/// Override one of three methods, the simplest that fits:
///
/// - `reduce(into:action:)`, for a plain change of the model;
/// - `apply(_:to:)`, if it reads other stores before, or commits more than once;
/// - `operation(for:in:)`, if the work takes time, can be cancelled, or ends on another thread.
///
/// Where several are overridden, the dispatcher uses the last. An operation costs several times as much as
/// the other two, for which mostly none is made. The methods may be called on several threads at once, so a
/// reducer holds no mutable state. It needs no Sendable annotation: its store takes it over.
nonisolated open class Reducer<Model: Sendable, Action: ActionType> {
  /// Makes a reducer.
  public init() {}

  /// Returns the operation that handles an action: a new one for each call.
  ///
  /// Called where the operation is to run, after `willDispatch`. In every mode the dispatch waits for the
  /// dependencies that the reducer adds to the operation, on operations that it made itself.
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

  /// Handles an action on the thread that runs it, outside the store's exclusive section.
  ///
  /// It may read other stores, and update its own. The store run ends when it returns or throws. What it
  /// committed before it threw stays, and the store run fails with the error, or is cancelled for a
  /// `CancellationError`. By default it calls `reduce(into:action:)`.
  open func apply(_ action: Action, to store: Store<Model, Action>) throws {
    try store.commit(for: nil, action: nil, by: self) { try reduce(into: &$0, action: action) }
  }

  /// Changes the model for an action, in the store's exclusive section: one commit.
  ///
  /// What it changed before it threw is committed, and the store run fails with the error. For an action
  /// that changes nothing, call `noChange()`.
  open func reduce(into model: inout Model, action: Action) throws {
    noChange()
    throw DispatchError(
      code: .reducerMissing,
      message: """
        \(type(of: self)) answers no action: it overrides none of reduce(into:action:), apply(_:to:) \
        and operation(for:in:). Override one of them.
        """)
  }

  /// Says, inside `reduce(into:action:)`, that the reduction changes nothing: there is no commit.
  ///
  ///     override func reduce(into model: inout Cart, action: CartAction) {
  ///       guard model.items[action.item] != nil else { return noChange() }
  ///       …
  ///     }
  ///
  /// Then the store's version stays, and no observer is notified, also where the reduction throws an error
  /// afterwards. It has to be true: observers miss a change that is made all the same. Only the store's own
  /// reducer has a say: outside a reduction this has no effect, and in a reducer that another one calls, only as
  /// far as that one passes it on. Costs less than a commit.
  public final func noChange() {
    let thread = ThreadState.current
    if thread.exclusive != nil { thread.noteUnchanged(by: ObjectIdentifier(self)) }
  }

  /// Registers a store whose reducer it is.
  func makeEntry(
    of store: Store<Model, Action>, _ registration: StoreRegistration
  ) -> StoreEntry {
    TypedStoreEntry(store, registration)
  }

  /// An action that was dispatched to its store, as the store's action type; nil where it is of another one.
  func typed(_ action: any ActionType) -> Action? { action as? Action }

  /// Whether observers are notified of what this action commits to its store.
  open func shouldNotifyObservers(for action: Action, in store: Store<Model, Action>) -> Bool {
    true
  }

  /// The stores that the reducer's store waits for, for this action; by default those of its registration.
  ///
  /// Called once for each dispatch, on the dispatching thread, with the action as dispatched.
  ///
  /// - Parameter declared: That of its registration, to return as it is, extended or replaced.
  open func waitFor(
    for action: Action, in store: Store<Model, Action>, declared: WaitFor
  ) -> WaitFor {
    declared
  }
}
