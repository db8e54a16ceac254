/// A handler that runs outside the store's exclusive section, on the thread that runs the action.
@usableFromInline
final class ApplicationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  @usableFromInline typealias Body = HandlerBody<Model, @Sendable (Action) throws -> Void>

  private let body: Body
  private let makeApply: @Sendable (HandlerStore<Model>) -> Apply

  @usableFromInline
  init(
    _ body: Body, _ path: [AnyKeyPath],
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
  convenience init(_ body: Body, path: [AnyKeyPath] = []) {
    self.init(body, path) { store in
      let apply = body.bind(to: store)
      return { action, _ in
        do {
          try apply(action.assumingMemoryBound(to: Action.self).pointee)
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
      action, store, .returning { try body.bind(to: $1)($0.base as! Action) }, isReduction: true)
  }

  override func lifted<Whole: Sendable>(
    to path: any WritableKeyPath<Whole, Model> & Sendable
  ) -> Handler<Whole> {
    guard let body = body.lifted(to: path) else { stopLifting() }
    return ApplicationHandler<Whole, Action>(body, path: [path] + self.path)
  }

  override func lifted<Whole: Sendable>(
    toOptional path: any WritableKeyPath<Whole, Model?> & Sendable
  ) -> Handler<Whole> {
    guard let body = body.lifted(toOptional: path) else { stopLifting() }
    return ApplicationHandler<Whole, Action>(body, path: [path] + self.path)
  }
}
