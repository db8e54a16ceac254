/// How actions for a part are dispatched to its store.
@usableFromInline
struct PartActions<Action: ActionType>: Sendable {
  @usableFromInline
  typealias Dispatch<Dispatched> = @Sendable (Dispatched, PartRequest) -> DispatchHandle
  @usableFromInline
  typealias Send =
    nonisolated(nonsending) @Sendable (Action, PartRequest) async -> DispatchResult

  @usableFromInline let dispatch: Dispatch<Action>
  @usableFromInline let dispatchAll: Dispatch<[Action]>
  @usableFromInline let send: Send

  @inlinable
  init(
    dispatch: @escaping Dispatch<Action>, dispatchAll: @escaping Dispatch<[Action]>,
    send: @escaping Send
  ) {
    self.dispatch = dispatch
    self.dispatchAll = dispatchAll
    self.send = send
  }

  /// Those of the store itself.
  @inlinable
  init<Model>(of store: Store<Model, Action>) {
    self.init(
      dispatch: { action, request in
        guard let completion = request.completion else {
          return store.dispatch(
            action, mode: request.mode, options: request.options, fileID: request.fileID,
            line: request.line)
        }
        guard let dispatcher = store.dispatcher else {
          return store.refuse(completion, request.fileID, request.line)
        }
        return dispatcher.dispatch(
          action, to: store.identifier, request.mode, request.options, completion, request.fileID,
          request.line)
      },
      dispatchAll: { store.dispatch($0, $1) },
      send: { action, request in
        guard let dispatcher = store.dispatcher else {
          return store.refuse(request.completion, request.fileID, request.line).resultIfEnded!
        }
        return await dispatcher.send(
          action, to: store.identifier, request.mode, request.options, request.completion,
          request.fileID, request.line)
      })
  }

  /// Those that stand for these.
  @inlinable
  func embedding<Local>(
    _ embed: @escaping @Sendable (Local) -> Action
  ) -> PartActions<Local> {
    let (dispatch, dispatchAll, send) = (dispatch, dispatchAll, send)
    return PartActions<Local>(
      dispatch: { dispatch(embed($0), $1) }, dispatchAll: { dispatchAll($0.map(embed), $1) },
      send: { await send(embed($0), $1) })
  }
}

/// What is dispatched with an action.
@usableFromInline
struct PartRequest: Sendable {
  @usableFromInline let mode: Dispatcher.Mode
  @usableFromInline let options: DispatchOptions
  @usableFromInline let completion: Completion?
  @usableFromInline let fileID: StaticString
  @usableFromInline let line: UInt

  @inlinable
  init(
    _ mode: Dispatcher.Mode, _ options: DispatchOptions, _ completion: Completion?,
    _ fileID: StaticString, _ line: UInt
  ) {
    self.mode = mode
    self.options = options
    self.completion = completion
    self.fileID = fileID
    self.line = line
  }
}

extension Store {
  @usableFromInline
  func dispatch(_ actions: [Action], _ request: PartRequest) -> DispatchHandle {
    guard let dispatcher else { return refuse(request.completion, request.fileID, request.line) }
    return dispatcher.enqueue(
      actions, to: identifier, mode: request.mode, options: request.options, request.completion,
      request.fileID, request.line)
  }
}
