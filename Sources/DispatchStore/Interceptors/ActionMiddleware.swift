/// A middleware for actions of one type, in whichever store.
///
///     dispatcher.register(
///       middleware: .on(Order.self) { order, transaction in
///         order.amount > 1_000 ? .veto(reason: "too much") : .pass
///       })
///
/// Where the type is a class, also for its subclasses; other actions pass. Each closure is called as the hook
/// of `Middleware` is: once for each store that takes part, while no lock is held, perhaps on several threads at
/// once. One that throws fails the store run (`before`), or is an incident (`after`).
public final class ActionMiddleware<Action: ActionType>: Middleware {
  private let before: @Sendable (Action, MiddlewareContext) throws -> ActionVerdict<Action>
  private let after: @Sendable (Action, MiddlewareContext) throws -> Void

  /// Makes one.
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

  /// Calls the closure for an action of the type.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let action = action as? Action else { return .pass }
    return try before(action, transaction).untyped
  }

  /// Calls the closure for an action of the type.
  public func didDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws {
    if let action = action as? Action { try after(action, transaction) }
  }
}

extension Middleware {
  /// A middleware for actions of one type, as `ActionMiddleware.init(before:after:)` makes it.
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
