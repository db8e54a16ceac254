/// The reducer of a store of handlers.
///
/// Routes lead to the handlers directly (`HandledStoreEntry`). The reducer serves callers that have only the action:
/// operations of a round, and dispatches of a `HandledAction`.
final class HandlerReducer<Model: Sendable>: Reducer<Model, HandledAction> {
  private let state: Locked<State>

  private struct State {
    var table: HandlerTable<Model>
    /// The handlers that are no longer in the table; dispatches under way may still have them.
    var replaced: [Replaced] = []
  }

  private struct Replaced {
    weak let handler: Handler<Model>?
  }

  init(_ handlers: Handlers<Model>) {
    state = Locked(State(table: HandlerTable(handlers)))
  }

  var table: HandlerTable<Model> { state.withLock(\.table) }

  func change<Result>(_ body: (inout HandlerTable<Model>) -> Result) -> Result {
    let (former, result) = state.withLock { state in
      let former = state.table.all
      let result = body(&state.table)
      let present = Set(state.table.all.map(ObjectIdentifier.init))
      state.replaced.removeAll { $0.handler == nil }
      for handler in former where !present.contains(ObjectIdentifier(handler)) {
        state.replaced.append(Replaced(handler: handler))
      }
      return (former, result)
    }
    // Released outside the lock, because the closures' captures are user objects.
    withExtendedLifetime(former) {}
    return result
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    guard let handler = handler(of: action) else {
      return .make(action, store, .returning { _, _ in })
    }
    if handler.actionType is any AtomicAction.Type {
      // Routes of atomic actions lead to the handlers; this one came in its wrapping.
      let error = DispatchError.wrappedAtomic(store.identifier, handler.actionType)
      return .make(action, store, .returning { _, _ in throw error })
    }
    return handler.operation(for: action, in: store)
  }

  override func reduce(into model: inout Model, action: HandledAction) throws {
    defer { Reduction.passUnchanged(to: self) }
    try handler(of: action)?.reduce(into: &model, action.base)
  }

  override func typed(_ action: any ActionType) -> HandledAction? {
    action as? HandledAction ?? HandledAction(action)
  }

  /// The handler that the action was dispatched with, if that is one of this store, or else the present one.
  private func handler(of action: HandledAction) -> Handler<Model>? {
    let given = action.handler as? Handler<Model>
    return state.withLock { state in
      let isOwn =
        given.map { given in
          state.table.all.contains { $0 === given }
            || state.replaced.contains { $0.handler === given }
        } ?? false
      return isOwn ? given : state.table.handler(for: type(of: action.base))
    }
  }

  override func makeEntry(
    of store: HandlerStore<Model>, _ registration: StoreRegistration
  ) -> StoreEntry {
    HandlerStoreEntry(store, registration, table)
  }
}
