/// A handler that answers its actions with an operation.
final class OperationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  private let block: HandlerBlock<Model, Action>

  init(_ block: HandlerBlock<Model, Action>, path: [AnyKeyPath] = []) {
    self.block = block
    super.init(.operation, path: path)
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    .make(action, store, block.operationBlock)
  }

  override func lifted<Whole: Sendable>(
    to path: any WritableKeyPath<Whole, Model> & Sendable
  ) -> Handler<Whole> {
    guard let block = block.lifted({ $0.lifted(to: path) }, { $0.lifted(to: path) }) else {
      stopLifting()
    }
    return OperationHandler<Whole, Action>(block, path: [path] + self.path)
  }

  override func lifted<Whole: Sendable>(
    toOptional path: any WritableKeyPath<Whole, Model?> & Sendable
  ) -> Handler<Whole> {
    let lifted = block.lifted(
      { $0.lifted(toOptional: path) }, { $0.lifted(toOptional: path) })
    guard let lifted else { stopLifting() }
    return OperationHandler<Whole, Action>(lifted, path: [path] + self.path)
  }
}

/// The block of a handler's operation, by the way in which it ends.
enum HandlerBlock<Model: Sendable, Action: ActionType>: Sendable {
  typealias Suspending<Part: Sendable> = HandlerBody<Part, @Sendable (Action) async throws -> Void>
  typealias Controlled<Part: Sendable> =
    HandlerBody<Part, @Sendable (any HandlerRunning, Action) throws -> Void>

  /// Runs in a task, with the isolation of the program's closure.
  case suspending(isolation: (any Actor)?, Suspending<Model>)
  /// Ends when `finish()` is called.
  case controlled(Controlled<Model>)

  /// The block for an `ActionOperation`.
  ///
  /// Binds to the store late, because a weakly owned store may be gone before it runs.
  var operationBlock: OperationBlock<Model, HandledAction> {
    switch self {
    case .suspending(let isolation, let body):
      .replying(isolation: isolation) { action, store in
        try await body.bind(to: store)(action.base as! Action)
      }
    case .controlled(let body):
      .controlled { operation, action, store in
        try body.bind(to: store)(operation, action.base as! Action)
      }
    }
  }

  func lifted<Whole: Sendable>(
    _ suspending: (Suspending<Model>) -> Suspending<Whole>?,
    _ controlled: (Controlled<Model>) -> Controlled<Whole>?
  ) -> HandlerBlock<Whole, Action>? {
    switch self {
    case .suspending(let isolation, let body):
      suspending(body).map { .suspending(isolation: isolation, $0) }
    case .controlled(let body):
      controlled(body).map { .controlled($0) }
    }
  }
}
