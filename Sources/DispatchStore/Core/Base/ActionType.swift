/// An event that stores respond to.
///
///     struct Withdraw: ActionType {
///       typealias Reply = Int
///       let amount: Int
///     }
///
///     let balance = try await bank.send(Withdraw(amount: 5)).reply
///
/// A store responds to its action type. If that is a class, it responds to subclasses, too.
public protocol ActionType: Sendable {
  /// The type of the value with which a store replies; `Void` unless you declare it.
  associatedtype Reply: Sendable = Void
}

/// An action that wraps another one, for an API that takes actions of one type.
protocol WrappedAction: ActionType {
  /// The action that was dispatched.
  var base: any ActionType { get }
}

/// Any action.
public typealias AnyAction = any ActionType
