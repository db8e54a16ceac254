/// Dispatches actions for a part to its store.
@usableFromInline
struct PartActions<Action: ActionType>: Sendable {
  @usableFromInline
  typealias Dispatch =
    @Sendable (Action, Dispatcher.Mode, DispatchOptions, Completion?, CallSite) -> DispatchHandle
  @usableFromInline
  typealias Send =
    nonisolated(nonsending) @Sendable (
      Action, Dispatcher.Mode, DispatchOptions, Completion?, CallSite
    ) async -> DispatchResult

  @usableFromInline let dispatch: Dispatch
  @usableFromInline let send: Send

  @inlinable
  init(dispatch: @escaping Dispatch, send: @escaping Send) {
    self.dispatch = dispatch
    self.send = send
  }

  /// Dispatches the store's own actions.
  @inlinable
  init<Model>(of store: Store<Model, Action>) {
    self.init(
      dispatch: {
        if let action = Self.wrapped($0) {
          return store.dispatch(any: action, $1, $2, $3, $4)
        }
        return store.dispatch(any: $0, $1, $2, $3, $4)
      },
      send: {
        if let action = Self.wrapped($0) {
          return await store.send(any: action, $1, $2, $3, $4)
        }
        return await store.send(any: $0, $1, $2, $3, $4)
      })
  }

  /// The wrapped action to dispatch to a store of handlers; nil for other stores.
  @inlinable
  static func wrapped(_ action: Action) -> (any ActionType)? {
    Action.self == HandledAction.self ? (action as? HandledAction)?.base : nil
  }

  /// Returns dispatchers for a part's actions, which `embed` converts to these actions.
  @inlinable
  func embedding<Local>(
    _ embed: @escaping @Sendable (Local) -> Action
  ) -> PartActions<Local> {
    let (dispatch, send) = (dispatch, send)
    return PartActions<Local>(
      dispatch: { dispatch(embed($0), $1, $2, $3, $4) },
      send: { await send(embed($0), $1, $2, $3, $4) })
  }
}
