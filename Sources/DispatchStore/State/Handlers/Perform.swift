/// Works on actions of one type outside the store's exclusive section, and changes the model as often as needed.
///
///     Perform(Charge.self) { charge, context async throws -> Receipt in
///       let receipt = try await provider.charge(charge.amount)
///       try context.updateModel { $0.charged += charge.amount }
///       return receipt
///     }
///
/// A closure with `await` runs in a task. It is like the `async` block of an `ActionOperation`: its lane is held until
/// the closure has returned, and cancelling the dispatch cancels the task. A closure without `await` runs on the thread
/// that runs the dispatch, for about a twentieth of the cost. (To isolate such a closure to an actor, make it `async`:
/// `{ @MainActor action, context async throws in … }`.) An error that the closure throws fails the store run.
///
/// The closure's result is the store's reply. If another store gives the reply to the action, write
/// `Perform(withoutReply: Charge.self)`.
public struct Perform<Model: Sendable>: HandlerComponent {
  /// The handler for this action type.
  public let handlers: Handlers<Model>

  /// Handles actions of a type with a closure that does not suspend.
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ body:
      @escaping @Sendable (_ action: Action, _ context: HandlerContext<Model>) throws ->
      Action.Reply
  ) {
    self.init(
      calling: {
        ReplyRecord.note(try body($0, $1), of: $1.storeIdentifier)
      } as @Sendable (Action, HandlerContext<Model>) throws -> Void)
  }

  /// Handles actions of a type with a closure that suspends.
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ body:
      @escaping @isolated(any) @Sendable (_ action: Action, _ context: HandlerContext<Model>)
      async throws -> Action.Reply
  ) {
    self.init(body.isolation) { (action: Action, context) in
      ReplyRecord.note(try await body(action, context), of: context.storeIdentifier)
    }
  }

  /// Handles actions of a type with a closure that does not suspend, and leaves the reply to other stores.
  @inlinable
  public init<Action: ActionType>(
    withoutReply type: Action.Type,
    _ body:
      @escaping @Sendable (_ action: Action, _ context: HandlerContext<Model>) throws -> Void
  ) {
    self.init(calling: body)
  }

  /// Handles actions of a type with a closure that suspends, and leaves the reply to other stores.
  public init<Action: ActionType>(
    withoutReply type: Action.Type,
    _ body:
      @escaping @isolated(any) @Sendable (_ action: Action, _ context: HandlerContext<Model>)
      async throws -> Void
  ) {
    self.init(body.isolation) { (action: Action, context) in try await body(action, context) }
  }

  @inlinable
  init<Action: ActionType>(
    calling body: @escaping @Sendable (Action, HandlerContext<Model>) throws -> Void
  ) {
    handlers = Handlers([
      ApplicationHandler { part in { try body($0, HandlerContext(part, $1)) } }
    ])
  }

  private init<Action: ActionType>(
    _ isolation: (any Actor)?,
    _ body: @escaping @Sendable (Action, HandlerContext<Model>) async throws -> Void
  ) {
    handlers = Handlers([
      OperationHandler(isolation) { part in { try await body($0, HandlerContext(part, $1)) } }
    ])
  }
}
