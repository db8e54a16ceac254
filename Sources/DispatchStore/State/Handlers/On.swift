/// Changes the model for actions of one type: one reduction, one commit.
///
///     On(Withdraw.self) { bank, withdraw in
///       guard bank.balance >= withdraw.amount else { throw Overdrawn() }
///       bank.balance -= withdraw.amount
///       return bank.balance  // the action's `Reply`
///     }
///
/// The closure runs in the store's exclusive section, like `Reducer.reduce(into:action:)`. If it throws, the changes
/// that it made before are committed, and the store run fails with the error.
public struct On<Model: Sendable>: HandlerComponent {
  /// The handler for this action type.
  public let handlers: Handlers<Model>

  /// Handles actions of a type; the closure's result is the store's reply.
  @inlinable
  public init<Action: ActionType>(
    _ type: Action.Type,
    _ reduce: @escaping @Sendable (_ model: inout Model, _ action: Action) throws -> Action.Reply
  ) {
    handlers = Handlers([
      ReductionHandler { (model: inout Model, action: Action) in
        ReplyRecord.note(try reduce(&model, action))
      }
    ])
  }

  /// Handles actions of a type, and leaves the reply to other stores.
  @inlinable
  public init<Action: ActionType>(
    withoutReply type: Action.Type,
    _ reduce: @escaping @Sendable (_ model: inout Model, _ action: Action) throws -> Void
  ) {
    handlers = Handlers([ReductionHandler(reduce)])
  }
}
