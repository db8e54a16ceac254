/// Handles actions of one type on the thread that runs them, outside the store's exclusive section.
///
/// As `Reducer.apply(_:to:)`: it may read other stores, and update its own more than once.
public struct Applying<Model: Sendable>: HandlerComponent {
  /// What it stands for.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ apply: @escaping @Sendable (_ action: Action, _ store: HandlerStore<Model>) throws -> Void
  ) {
    handlers = Handlers([ApplicationHandler(apply)])
  }

  /// Handles actions of a type, and replies to who dispatched them by what the closure returns.
  @inlinable
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ apply:
      @escaping @Sendable (_ action: Action, _ store: HandlerStore<Model>) throws -> Action.Reply
  ) {
    handlers = Handlers([
      ApplicationHandler { (action: Action, store: HandlerStore<Model>) in
        ReplyRecord.note(try apply(action, store), of: store.identifier)
      }
    ])
  }
}

/// Handles actions of one type by an operation whose block is `async`.
///
/// As `ActionOperation(action:store:block:)` with such a block: a lane holds the dispatch to its end, cancelling the dispatch
/// cancels the block's task, and an error that it throws fails the store run.
public struct Performing<Model: Sendable>: HandlerComponent {
  /// What it stands for.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: HandlerStore<Model>)
      async throws -> Void
  ) {
    handlers = Handlers([
      OperationHandler<Model, Action> { handled, action, store in
        .replying(isolation: perform.isolation) { _, store in try await perform(action, store) }
      }
    ])
  }

  /// Handles actions of a type, and replies to who dispatched them by what the closure returns.
  public init<Action: ReplyingAction>(
    _ type: Action.Type,
    _ perform:
      @escaping @isolated(any) @Sendable (_ action: Action, _ store: HandlerStore<Model>)
      async throws -> Action.Reply
  ) {
    handlers = Handlers([
      OperationHandler<Model, Action> { handled, action, store in
        .replying(isolation: perform.isolation) { _, store in
          ReplyRecord.note(try await perform(action, store), of: store.identifier)
        }
      }
    ])
  }
}

/// Handles actions of one type by an operation that its block ends: at once, or from a callback.
///
/// As `ActionOperation(action:store:block:)` with such a block.
public struct Operating<Model: Sendable>: HandlerComponent {
  /// What it stands for.
  public let handlers: Handlers<Model>

  /// Handles actions of a type.
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ block:
      @escaping @Sendable (
        _ operation: RunningOperation<Model, HandledAction>, _ action: Action,
        _ store: HandlerStore<Model>
      ) throws -> Void
  ) {
    handlers = Handlers([
      OperationHandler<Model, Action> { handled, action, store in
        .controlled { operation, _, store in try block(operation, action, store) }
      }
    ])
  }
}
