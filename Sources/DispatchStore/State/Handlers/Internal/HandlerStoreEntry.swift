/// The registry entry of a store of handlers, with a member entry for each handler.
///
/// This entry itself gets actions that are dispatched as `HandledAction`: observers and test kits replay those.
final class HandlerStoreEntry<Model: Sendable>: TypedStoreEntry<Model, HandledAction>,
  @unchecked Sendable
{
  // because its superclass is, and these are constants
  private let table: HandlerTable<Model>
  /// The member entries, by index in the table.
  private let handled: [HandledStoreEntry<Model>]

  init(
    _ store: HandlerStore<Model>, _ registration: StoreRegistration, _ table: HandlerTable<Model>
  ) {
    self.table = table
    handled = table.all.map { HandledStoreEntry(store, registration, $0) }
    super.init(store, registration, makeCalls: { table.makeCalls(of: $0) })
  }

  override func typed(_ action: any ActionType) -> HandledAction? {
    table.handled(HandledAction.unwrapped(action))
  }

  override var members: [StoreEntry] { [self] + handled }

  override func member(for type: any ActionType.Type) -> StoreEntry? {
    type == HandledAction.self ? self : table.nearestIndex(to: type).map { handled[$0] }
  }
}

extension HandlerTable {
  /// Wraps an action with its handler, as the reducer gets it.
  ///
  /// - Parameter base: The action, without a wrapping.
  fileprivate func handled(_ base: any ActionType) -> HandledAction {
    HandledAction(base, handler: handler(for: type(of: base)))
  }

  /// Makes the calls of a store for actions in their wrapping, all of which its reducer answers by an operation.
  fileprivate func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    ReducerCalls(
      on: store.storage,
      answer: { action, store, dispatch, thread in
        let action = handled(action.assumingMemoryBound(to: HandledAction.self).pointee.base)
        return (store as! HandlerStore<Model>).answer(action, of: dispatch, on: thread)
      })
  }
}

/// The registry entry of a store for one of its handlers, with that handler's calls.
final class HandledStoreEntry<Model: Sendable>: TypedStoreEntry<Model, HandledAction>,
  @unchecked Sendable
{
  // because its superclass is, and these are constants
  private let handler: Handler<Model>

  init(
    _ store: HandlerStore<Model>, _ registration: StoreRegistration, _ handler: Handler<Model>
  ) {
    self.handler = handler
    super.init(
      store, registration, actionType: handler.actionType,
      overrides: ReducerOverrides(handler.answer), makeCalls: { handler.makeCalls(of: $0) })
  }

  override func responds(to type: any ActionType.Type) -> Bool { handler.responds(to: type) }

  override func typed(_ action: any ActionType) -> HandledAction? {
    HandledAction(action, handler: handler)
  }

  override func action<Action: ActionType>(
    at address: UnsafeRawPointer, as type: Action.Type
  ) -> Action? {
    HandledAction(copyAction(actionType, at: address), handler: nil) as? Action
  }
}
