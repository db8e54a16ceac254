/// A handler that runs outside the store's exclusive section, on the thread that runs the action.
@usableFromInline
final class ApplicationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  /// Binds the handler to a store's part, for a call that takes the dispatcher.
  @usableFromInline typealias Body =
    @Sendable (StorePart<Model, HandledAction>) -> @Sendable (Action, Dispatcher?) throws -> Void

  private let body: Body
  private let makeApply: @Sendable (HandlerStore<Model>) -> Apply

  @usableFromInline
  init(
    _ path: [AnyKeyPath], _ body: @escaping Body,
    makeApply: @escaping @Sendable (HandlerStore<Model>) -> Apply
  ) {
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
          return .done
        } catch {
          return .failed(error)
        }
      }
    }
  }

  override func makeApply(of store: HandlerStore<Model>) -> Apply { makeApply(store) }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    let body = body
    return .make(
      action, store,
      .returning { try body(.whole(of: $1))($0.base as! Action, $1.homeOfRun) }, isReduction: true)
  }

  override func lifted<Whole: Sendable>(
    to path: any WritableKeyPath<Whole, Model> & Sendable
  ) -> Handler<Whole> {
    ApplicationHandler<Whole, Action>(path: [path] + self.path) { [body] in
      body($0.appending(.property(path)))
    }
  }

  override func lifted<Whole: Sendable>(
    toOptional path: any WritableKeyPath<Whole, Model?> & Sendable
  ) -> Handler<Whole> {
    ApplicationHandler<Whole, Action>(path: [path] + self.path) { [body] whole in
      let part = whole.unwrapping(path)
      let call = body(part)
      return { if part.isPresent { try call($0, $1) } }
    }
  }
}

extension Store {
  /// The dispatcher that it is registered with, or else the one that runs it here after it was unregistered.
  @usableFromInline
  var homeOfRun: Dispatcher? {
    if let dispatcher { return dispatcher }
    let thread = ThreadState.current
    if let run = thread.run { return run.pointee.runningDispatcher }
    return DispatchContext.storeRun(on: thread)?.dispatch.runningDispatcher
  }
}

extension StorePart {
  /// Returns the value of an optional part, which may be missing.
  func unwrapping<Value: Sendable>(
    _ path: any WritableKeyPath<Model, Value?> & Sendable
  ) -> StorePart<Value, Action> {
    appending(.unwrapping(path))
  }

  /// Whether the part is present now.
  var isPresent: Bool { read { _ in } }
}
