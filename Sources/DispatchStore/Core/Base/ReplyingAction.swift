/// An action to which stores may reply with a value of its `Reply` type.
///
/// The type belongs to the action, so the caller needs no cast.
///
///     struct Charge: ReplyingAction {
///       typealias Reply = Receipt
///       let amount: Int
///     }
///
///     let receipt = try await dispatcher.send(Charge(amount: 5)).reply
///
/// A store replies by the value that its operation's block returns, by `RunningOperation.finish(with:)`, or by
/// `Reducer.reply(_:)` in `apply(_:to:)` and `reduce(into:action:)`. A store need not reply.
public protocol ReplyingAction: ActionType {
  /// The type of a store's reply.
  associatedtype Reply: Sendable
}
