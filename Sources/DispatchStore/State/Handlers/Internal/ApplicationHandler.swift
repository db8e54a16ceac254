/// A handler that runs outside the store's exclusive section, on the thread that runs the action.
@usableFromInline
final class ApplicationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  /// Binds the handler to a store's part, for a call that takes the dispatcher.
  @usableFromInline typealias Body =
    @Sendable (StorePart<Model, HandledAction>) -> @Sendable (Action, Dispatcher?) throws -> Void

  @usableFromInline typealias MakeApply = @Sendable (HandlerStore<Model>) -> ReducerCalls.Apply

  private let body: Body
  private let makeApply: MakeApply

  @usableFromInline
  init(_ path: [AnyKeyPath], _ body: @escaping Body, makeApply: @escaping MakeApply) {
    self.body = body
    self.makeApply = makeApply
    super.init(.application, path: path)
  }

  /// Creates a handler.
  ///
  /// Inlinable, so that it is specialised for the model's and the action's types.
  @inlinable
  convenience init(path: [AnyKeyPath] = [], _ body: @escaping Body) {
    self.init(path, body) { store in
      let apply = body(.whole(of: store))
      return { action, store in
        do {
          let home = Self.typed(store).homeOfRun
          try apply(action.assumingMemoryBound(to: Action.self).pointee, home)
          return .finished
        } catch {
          return .ended(StoreOutcome(thrown: error))
        }
      }
    }
  }

  override func makeCalls(of store: HandlerStore<Model>) -> ReducerCalls {
    ReducerCalls(on: store.storage, apply: makeApply(store))
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    let body = body
    return .make(
      action, store,
      .returning { try body(.whole(of: $1))($0.base as! Action, $1.homeOfRun) }, isOfLibrary: true)
  }

  override func lifted<Whole: Sendable>(
    to part: PartPath<Model>, at path: AnyKeyPath, mayBeAbsent: Bool
  ) -> Handler<Whole> {
    ApplicationHandler<Whole, Action>(path: pathInWhole(path, mayBeAbsent)) { [body] whole in
      let part = whole.appending(part)
      let call = body(part)
      if !mayBeAbsent { return call }
      return { if part.isPresent { try call($0, $1) } }
    }
  }
}

extension Store {
  /// The dispatcher that runs it here, which it may have left since; or else the one that it is registered with.
  @usableFromInline
  var homeOfRun: Dispatcher? {
    let (home, thread) = (dispatcher, ThreadState.current)
    if let home {
      // Without the names of stores, for most.
      let isHome = DispatchContext.innermostDispatcher(on: thread) == home.number
      if isHome || ReplyRecord.runningStore != identifier { return home }
    }
    if let run = thread.run { return run.pointee.runningDispatcher ?? home }
    return DispatchContext.storeRun(on: thread)?.dispatch.runningDispatcher ?? home
  }
}

extension StorePart {
  /// Whether the part is present now.
  var isPresent: Bool { read { _ in } }
}
