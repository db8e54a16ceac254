/// An action whose stores may reply to who dispatched it, with a value of its type.
///
/// The type belongs to the action: no cast is needed where it arrives.
///
///     struct Charge: ReplyingAction {
///       typealias Reply = Receipt
///       let amount: Int
///     }
///
///     let receipt = try await dispatcher.send(Charge(amount: 5)).reply
///
/// A store replies by the value that its operation's block returns, by `RunningOperation.finish(with:)`, or by
/// `Reducer.reply(_:)` in `apply(_:to:)` and `reduce(into:action:)`. It need not reply.
public protocol ReplyingAction: ActionType {
  /// What a store replies.
  associatedtype Reply: Sendable
}
