/// A handler that answers its actions with an operation, whose block runs in a task.
final class OperationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  /// Binds the handler to a store's part, for a call that takes the dispatcher.
  typealias Body =
    @Sendable (StorePart<Model, HandledAction>) ->
    @Sendable (Action, Dispatcher?) async throws ->
    Void

  private let isolation: (any Actor)?
  private let body: Body

  /// Makes a handler with the isolation of the program's closure.
  init(_ isolation: (any Actor)?, path: [AnyKeyPath] = [], _ body: @escaping Body) {
    self.isolation = isolation
    self.body = body
    super.init(.operation, path: path)
  }

  override func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    ReducerCalls(
      on: store.storage,
      answer: { action, store, dispatch, thread in
        let action = action.assumingMemoryBound(to: Action.self).pointee
        let handled = HandledAction(action, handler: self)
        return Self.typed(store).answer(handled, of: dispatch, on: thread)
      })
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    // Binds to the store late, because a weakly owned store may be gone before it runs.
    .make(
      action, store,
      .replying(isolation: isolation) { [body] in
        try await body(.whole(of: $1))($0.base as! Action, $1.homeOfRun)
      }, isOfLibrary: true)
  }

  override func lifted<Whole: Sendable>(
    to part: PartPath<Model>, at path: AnyKeyPath, mayBeAbsent: Bool
  ) -> Handler<Whole> {
    OperationHandler<Whole, Action>(isolation, path: pathInWhole(path, mayBeAbsent)) {
      [body] whole in
      let part = whole.appending(part)
      let call = body(part)
      if !mayBeAbsent { return call }
      return { if part.isPresent { try await call($0, $1) } }
    }
  }
}
