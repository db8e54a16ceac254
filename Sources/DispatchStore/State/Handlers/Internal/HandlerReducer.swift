/// The reducer of a store of handlers.
///
/// Routes lead to the handlers directly (`HandledStoreEntry`). The reducer serves operations of a round, and dispatches of
/// a `HandledAction`: with the handler that the store's registry entry has attached to the action.
final class HandlerReducer<Model: Sendable>: Reducer<Model, HandledAction> {
  private let state: Locked<HandlerTable<Model>>

  init(_ handlers: Handlers<Model>) {
    state = Locked(HandlerTable(handlers))
  }

  var table: HandlerTable<Model> { state.withLock(\.self) }

  func change<Result>(_ body: (inout HandlerTable<Model>) -> Result) -> Result {
    let (former, result) = state.withLock { table in
      let former = table
      return (former, body(&table))
    }
    // Released outside the lock, because the closures' captures are user objects.
    withExtendedLifetime(former) {}
    return result
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    guard let handler = handler(of: action) else {
      return .make(action, store, .returning { _, _ in }, isOfLibrary: true)
    }
    if handler.actionType is any AtomicAction.Type {
      // Routes of atomic actions lead to the handlers; this one came in its wrapping.
      let error = DispatchError.wrappedAtomic(store.identifier, handler.actionType)
      return .make(action, store, .returning { _, _ in throw error }, isOfLibrary: true)
    }
    return handler.operation(for: action, in: store)
  }

  override func reduce(into model: inout Model, action: HandledAction) throws {
    defer { Reduction.passUnchanged(to: self) }
    try handler(of: action)?.reduce(into: &model, action.base)
  }

  override class func typed(_ action: any ActionType) -> HandledAction? {
    action as? HandledAction ?? HandledAction(action)
  }

  private func handler(of action: HandledAction) -> Handler<Model>? {
    action.handler as? Handler<Model>
  }

  override func makeEntry(
    of store: HandlerStore<Model>, _ registration: StoreRegistration
  ) -> StoreEntry {
    HandlerStoreEntry(store, registration, table)
  }
}

extension DispatchError {
  fileprivate static func wrappedAtomic(
    _ identifier: String, _ actionType: any ActionType.Type
  ) -> DispatchError {
    DispatchError(
      code: .notAtomic,
      message: """
        Store "\(identifier)": \(actionType) is an atomic action, and was dispatched in its wrapping, in which no action \
        is atomic. Dispatch the wrapping's base.
        """,
      storeIdentifiers: [identifier])
  }
}
