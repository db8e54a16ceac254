/// Handles actions of one type on the thread that runs them, outside the store's exclusive section.
///
/// The closure can read other stores, and update its own more than once, like `Reducer.apply(_:to:)`. In a `Part`, it
/// receives a child for the part. Reads and updates of the child take the store's lock, and updates are the store's
/// commits. Dispatches through the child go to the store. Outside of parts, the child covers the whole model.
public struct Applying<Model: Sendable>: HandlerComponent {
  /// The handler for this action type.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: ChildHandlerStore<Model>) throws -> Void
  ) {
    self.init(.child { child in { try apply($0, child) } })
  }

  /// Handles actions of a type, and replies to the caller with the closure's result.
  @inlinable
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: ChildHandlerStore<Model>) throws ->
      Action.Reply
  ) {
    self.init(
      .child { child in
        { (action: Action) in
          ReplyRecord.note(try apply(action, child), of: child.identifier)
        }
      })
  }

  @inlinable
  init<Action: ActionType>(_ body: HandlerBody<Model, @Sendable (Action) throws -> Void>) {
    handlers = Handlers([ApplicationHandler(body)])
  }
}

/// Handles actions of one type by an operation whose block is `async`.
///
/// It behaves like an `ActionOperation(action:store:block:)` with an `async` block:
///
/// - A lane holds the dispatch until the block has returned.
/// - Cancelling the dispatch cancels the block's task.
/// - An error that the block throws fails the store run.
///
/// `Applying` describes the child store that the block receives.
public struct Performing<Model: Sendable>: HandlerComponent {
  /// The handler for this action type.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: ChildHandlerStore<Model>)
      async throws -> Void
  ) {
    self.init(perform.isolation, .child { child in { try await perform($0, child) } })
  }

  /// Handles actions of a type, and replies to the caller with the closure's result.
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: ChildHandlerStore<Model>)
      async throws -> Action.Reply
  ) {
    self.init(
      perform.isolation,
      .child { child in
        { (action: Action) in
          ReplyRecord.note(try await perform(action, child), of: child.identifier)
        }
      })
  }

  init<Action: ActionType>(
    _ isolation: (any Actor)?, _ body: HandlerBlock<Model, Action>.Suspending<Model>
  ) {
    handlers = Handlers([OperationHandler(.suspending(isolation: isolation, body))])
  }
}

/// Handles actions of one type by an operation that its block finishes: at once, or from a callback.
///
/// It behaves like an `ActionOperation(action:store:block:)` with such a block. `Applying` describes the child store
/// that the block receives.
public struct Operating<Model: Sendable>: HandlerComponent {
  /// The handler for this action type.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ block:
      @escaping @Sendable (
        _ operation: HandlerOperation<Model>, _ action: Action, _ store: ChildHandlerStore<Model>
      ) throws -> Void
  ) {
    self.init(
      .child { child in
        { running, action in try block(HandlerOperation(running, child.part), action, child) }
      })
  }

  init<Action: ActionType>(_ body: HandlerBlock<Model, Action>.Controlled<Model>) {
    handlers = Handlers([OperationHandler(.controlled(body))])
  }
}
