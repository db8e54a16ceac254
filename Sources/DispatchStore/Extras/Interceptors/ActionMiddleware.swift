/// A middleware for actions of one type, in any store.
///
///     dispatcher.register(
///       middleware: .on(Order.self) { order, transaction in
///         order.amount > 1_000 ? .veto(reason: "too much") : .pass
///       })
///
/// If the type is a class, its subclasses match, too. Other actions pass. Each closure is called like its hook of
/// `Middleware`: once for each participating store, with no lock held, perhaps on several threads at once. An error
/// thrown by `before` fails the store run; an error thrown by `after` is a warning.
public final class ActionMiddleware<Action: ActionType>: Middleware {
  private let before: @Sendable (Action, MiddlewareContext) throws -> ActionVerdict<Action>
  private let after: @Sendable (Action, MiddlewareContext) throws -> Void

  /// Makes a middleware.
  ///
  /// - Parameters:
  ///   - before: Called in `willDispatch`; decides which action the store gets, if any.
  ///   - after: Called in `didDispatch`, with the action that ran.
  public init(
    before: @escaping @Sendable (Action, MiddlewareContext) throws -> ActionVerdict<Action> = {
      _, _ in .pass
    },
    after: @escaping @Sendable (Action, MiddlewareContext) throws -> Void = { _, _ in }
  ) {
    self.before = before
    self.after = after
  }

  /// Calls `before` for an action of the type.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let action = action as? Action else { return .pass }
    return try before(action, transaction).untyped
  }

  /// Calls `after` for an action of the type.
  public func didDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws {
    if let action = action as? Action { try after(action, transaction) }
  }
}

extension Middleware {
  /// Makes a middleware for actions of one type, like `ActionMiddleware.init(before:after:)`.
  public static func on<Action: ActionType>(
    _ type: Action.Type,
    before: @escaping @Sendable (Action, MiddlewareContext) throws -> ActionVerdict<Action> = {
      _, _ in .pass
    },
    after: @escaping @Sendable (Action, MiddlewareContext) throws -> Void = { _, _ in }
  ) -> Self where Self == ActionMiddleware<Action> {
    ActionMiddleware(before: before, after: after)
  }
}
