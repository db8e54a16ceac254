/// Dispatches actions for a part to its store.
@usableFromInline
struct PartActions<Action: ActionType>: Sendable {
  @usableFromInline
  typealias Dispatch = @Sendable (Action, PartRequest) -> DispatchHandle
  @usableFromInline
  typealias Send =
    nonisolated(nonsending) @Sendable (Action, PartRequest) async -> DispatchResult

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
          return store.dispatch(any: action, $1.mode, $1.options, $1.completion, $1.callSite)
        }
        return store.dispatch(any: $0, $1.mode, $1.options, $1.completion, $1.callSite)
      },
      send: {
        if let action = Self.wrapped($0) {
          return await store.send(any: action, $1.mode, $1.options, $1.completion, $1.callSite)
        }
        return await store.send(any: $0, $1.mode, $1.options, $1.completion, $1.callSite)
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
      dispatch: { dispatch(embed($0), $1) }, send: { await send(embed($0), $1) })
  }
}

/// The arguments of a dispatch besides its action.
@usableFromInline
struct PartRequest: Sendable {
  @usableFromInline let mode: Dispatcher.Mode
  @usableFromInline let options: DispatchOptions
  @usableFromInline let completion: Completion?
  @usableFromInline let callSite: CallSite

  @inlinable
  init(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions, _ completion: Completion?,
    _ callSite: CallSite
  ) {
    self.mode = mode
    self.options = options
    self.completion = completion
    self.callSite = callSite
  }
}
