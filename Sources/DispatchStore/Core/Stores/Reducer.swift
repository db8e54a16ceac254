/// Handles a store's actions.
///
/// Override one of three methods, the simplest that fits:
///
/// - `reduce(into:action:)`: For a plain change of the model.
/// - `apply(_:to:)`: For a change that reads other stores before, or commits more than once.
/// - `operation(for:in:)`: For work that takes time, can be cancelled, or ends on another thread.
///
/// If you override several, the dispatcher uses the last of them. An operation costs several times as much as the
/// other two, which mostly need none. Several threads may call the methods at once, so a reducer holds no mutable
/// state. It needs no Sendable annotation: its store takes it over.
nonisolated open class Reducer<Model: Sendable, Action: ActionType> {
  /// Makes a reducer.
  public init() {}

  /// Returns the operation that handles an action: a new one for each call.
  ///
  /// Called when the operation is to run, after `willDispatch`. The reducer may add dependencies on operations that
  /// it made itself. The dispatch waits for them in every mode.
  open func operation(
    for action: Action, in store: Store<Model, Action>
  ) -> ActionOperation<Model, Action> {
    guard ReducerOverrides(of: self).apply else {
      return .make(action, store, .reducing(self), isOfLibrary: true)
    }
    nonisolated(unsafe) let reducer = self  // which holds no mutable state
    return .make(
      action, store, .returning { try reducer.apply($0, to: $1) }, isOfLibrary: true)
  }

  /// Handles an action on the thread that runs it, outside the store's exclusive section.
  ///
  /// You can read other stores, and update your own. The store run ends when the method returns or throws. If it
  /// throws, its commits stay, and the store run fails with the error, or is cancelled for a `CancellationError`. The
  /// default implementation calls `reduce(into:action:)`.
  open func apply(_ action: Action, to store: Store<Model, Action>) throws {
    try store.commit(for: nil, action: nil, by: self) { try reduce(into: &$0, action: action) }
  }

  /// Changes the model for an action, in the store's exclusive section: one commit.
  ///
  /// If it throws, its changes are still committed, and the store run fails with the error. For an action that
  /// changes nothing, call `unchanged()`.
  open func reduce(into model: inout Model, action: Action) throws {
    unchanged()
    throw DispatchError(
      code: .reducerMissing,
      message: """
        \(type(of: self)) answers no action: it overrides none of reduce(into:action:), apply(_:to:) \
        and operation(for:in:). Override one of them.
        """)
  }

  /// Declares, inside `reduce(into:action:)`, that the reduction changes nothing, so that there is no commit.
  ///
  ///     override func reduce(into model: inout Cart, action: CartAction) {
  ///       guard model.items[action.item] != nil else { return unchanged() }
  ///       …
  ///     }
  ///
  /// The store's version stays, and no observer is notified, even if the reduction then throws an error. Call it only
  /// if the model is unchanged: observers would miss a change. It costs less than a commit.
  ///
  /// Outside a reduction it has no effect. A reducer that is called by the store's reducer has no say, unless the
  /// store's reducer calls `unchanged()` too.
  public final func unchanged() {
    let thread = ThreadState.current
    if thread.exclusive != nil { thread.noteUnchanged(by: ObjectIdentifier(self)) }
  }

  /// Makes the registry entry of a store with this reducer.
  func makeEntry(
    of store: Store<Model, Action>, _ registration: StoreRegistration
  ) -> StoreEntry {
    TypedStoreEntry(store, registration)
  }

  /// Returns a dispatched action as the store's action type, or nil if it has another type.
  class func typed(_ action: any ActionType) -> Action? { action as? Action }

  /// Whether observers are notified of the commits that this action makes to its store.
  open func shouldNotifyObservers(for action: Action, in store: Store<Model, Action>) -> Bool {
    true
  }

  /// Returns the stores that the reducer's store waits for, for this action.
  ///
  /// By default, those of its registration.
  ///
  /// Called once for each dispatch, on the dispatching thread, with the action as dispatched. Return `declared`, the
  /// `waitFor` of the registration, unchanged, extended or replaced.
  open func waitFor(
    for action: Action, in store: Store<Model, Action>, declared: WaitFor
  ) -> WaitFor {
    declared
  }
}
