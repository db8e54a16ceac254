/// Handles actions of one type on the thread that runs them, outside the store's exclusive section.
///
/// As `Reducer.apply(_:to:)`: it may read other stores, and update its own more than once. In a `Part`, its own is
/// the part: the child that it gets reads and changes that, under the store's lock and as the store's commits, and
/// dispatches to the store. Elsewhere it is the whole model.
public struct Applying<Model: Sendable>: HandlerComponent {
  /// What it stands for.
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

  /// Handles actions of a type, and replies to who dispatched them by what the closure returns.
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
/// As `ActionOperation(action:store:block:)` with such a block: a lane holds the dispatch to its end, cancelling the
/// dispatch cancels the block's task, and an error that it throws fails the store run. What it gets is said at
/// `Applying`.
public struct Performing<Model: Sendable>: HandlerComponent {
  /// What it stands for.
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

  /// Handles actions of a type, and replies to who dispatched them by what the closure returns.
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

/// Handles actions of one type by an operation that its block ends: at once, or from a callback.
///
/// As `ActionOperation(action:store:block:)` with such a block. What it gets is said at `Applying`.
public struct Operating<Model: Sendable>: HandlerComponent {
  /// What it stands for.
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
