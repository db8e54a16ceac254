/// A middleware for the stores of one type, or for one store, with hooks before and after each action.
///
///     dispatcher.register(
///       middleware: .on(account) { action, account, transaction in
///         account.model.isClosed ? .veto(reason: "closed") : .pass
///       })
///
/// Other stores' actions pass. Each closure is called like its hook of `Middleware`: with no lock held, perhaps on
/// several threads at once. An error thrown by `before` fails the store run; an error thrown by `after` is an
/// warning.
public final class StoreMiddleware<Model: Sendable, Action: ActionType>: Middleware,
  @unchecked Sendable
{
  // because `only` changes only when the store is released
  /// The type of the stores.
  public typealias Subject = Store<Model, Action>
  /// Called in `willDispatch`.
  public typealias Before =
    @Sendable (Action, Subject, MiddlewareContext) throws -> ActionVerdict<Action>
  /// Called in `didDispatch`.
  public typealias After = @Sendable (Action, Subject, MiddlewareContext) throws -> Void

  private weak var only: Subject?
  private let isForOneStore: Bool
  private let before: Before
  private let after: After

  /// Makes a middleware.
  ///
  /// - Parameters:
  ///   - store: The only store, not kept alive; nil for all stores of the type.
  ///   - before: Decides which action the store gets, if any.
  ///   - after: Called with the action that ran.
  public init(
    for store: Subject? = nil, before: @escaping Before = { _, _, _ in .pass },
    after: @escaping After = { _, _, _ in }
  ) {
    only = store
    isForOneStore = store != nil
    self.before = before
    self.after = after
  }

  private func subject(_ store: AnyStore) -> Subject? {
    if isForOneStore { return only.flatMap { $0 === store ? $0 : nil } }
    return store as? Subject
  }

  /// Calls `before` for an action of a matching store.
  public func willDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let store = subject(store), let action = store.reducer.typed(action) else { return .pass }
    return try before(action, store, transaction).untyped
  }

  /// Calls `after` for an action of a matching store.
  public func didDispatch(
    transaction: MiddlewareContext, action: AnyAction, in store: AnyStore
  ) throws {
    guard let store = subject(store), let action = store.reducer.typed(action) else { return }
    try after(action, store, transaction)
  }
}

extension Middleware {
  /// Makes a middleware for the stores of one type, like `StoreMiddleware.init(for:before:after:)`.
  public static func on<Model: Sendable, Action: ActionType>(
    _ type: Store<Model, Action>.Type,
    before: @escaping StoreMiddleware<Model, Action>.Before = { _, _, _ in .pass },
    after: @escaping StoreMiddleware<Model, Action>.After = { _, _, _ in }
  ) -> Self where Self == StoreMiddleware<Model, Action> {
    StoreMiddleware(before: before, after: after)
  }

  /// Makes a middleware for one store, like `StoreMiddleware.init(for:before:after:)`.
  public static func on<Model: Sendable, Action: ActionType>(
    _ store: Store<Model, Action>,
    before: @escaping StoreMiddleware<Model, Action>.Before = { _, _, _ in .pass },
    after: @escaping StoreMiddleware<Model, Action>.After = { _, _, _ in }
  ) -> Self where Self == StoreMiddleware<Model, Action> {
    StoreMiddleware(for: store, before: before, after: after)
  }
}
