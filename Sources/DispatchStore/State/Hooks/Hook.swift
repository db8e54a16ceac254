/// A middleware made from a closure: before or after actions of a type or of a store, or with a store's states.
///
/// ```swift
/// dispatcher.register(
///   .before(Order.self) { order, _ in
///     order.amount > 1_000 ? .veto(reason: "too much") : .pass
///   })
/// dispatcher.register(.states(of: account) { old, new, run in audit(run.action, old, new) })
/// ```
///
/// Each closure is called like the hook of `Middleware` that it stands for: once for each store that takes part, with
/// no lock held, perhaps on several threads at once. It may dispatch in every mode. A hook after an action also gets a
/// vetoed one, if it was registered before the middleware that vetoes.
///
/// A hook of a store whose actions have a type of their own gets these alone, so no undo: for that, make one before or
/// after `UndoStep`. A hook of a store of handlers gets an undo as any other action.
public struct Hook: Sendable {
  let middleware: any Middleware

  package init(_ middleware: any Middleware) {
    self.middleware = middleware
  }
}

extension Dispatcher {
  /// Registers a hook after the present middlewares.
  ///
  /// - Returns: The middleware that calls the closure; pass it to `unregister(middleware:)` to remove the hook.
  @discardableResult
  public func register(_ hook: Hook) -> any Middleware {
    register(middleware: hook.middleware)
    return hook.middleware
  }
}

extension Hook {
  /// Makes a hook before actions of one type, in any store.
  ///
  /// If the type is a class, its subclasses match, too.
  ///
  /// The closure is called in `willDispatch`, and decides which action the store gets, if any. If it throws, the store's
  /// run fails.
  public static func before<Action: ActionType>(
    _ type: Action.Type,
    _ body: @escaping @Sendable (Action, DispatchInfo) throws -> MiddlewareVerdict
  ) -> Hook {
    Hook(ActionHook<Action>(before: body))
  }

  /// Makes a hook after actions of one type, in any store.
  ///
  /// If the type is a class, its subclasses match, too.
  ///
  /// The closure is called in `didDispatch`, with the action that ran. An error that it throws is a warning.
  public static func after<Action: ActionType>(
    _ type: Action.Type, _ body: @escaping @Sendable (Action, StoreRunInfo) throws -> Void
  ) -> Hook {
    Hook(ActionHook<Action>(after: body))
  }

  /// Makes a hook before each action of one store, which it does not keep alive.
  ///
  /// The closure is called in `willDispatch`, and decides which action the store gets, if any. If it throws, the store's
  /// run fails.
  public static func before<Model, Action>(
    _ store: Store<Model, Action>,
    _ body: @escaping @Sendable (Action, DispatchInfo) throws -> MiddlewareVerdict
  ) -> Hook {
    Hook(ActionHook(store.typedForHooks, before: body))
  }

  /// Makes a hook after each action of one store, which it does not keep alive.
  ///
  /// The closure is called in `didDispatch`, with the action that ran. An error that it throws is a warning. It is not
  /// called if the store is weakly owned, and gone by then.
  public static func after<Model, Action>(
    _ store: Store<Model, Action>,
    _ body: @escaping @Sendable (Action, StoreRunInfo) throws -> Void
  ) -> Hook {
    Hook(ActionHook(store.typedForHooks, after: body))
  }

  /// Makes a hook with the states of one store before and after each action; it does not keep the store alive.
  ///
  /// It is called once for each action that the store has handled, after the store's observers and before the
  /// completion. That includes an action that failed, or was cancelled after its start, but no vetoed one. An action
  /// may commit several times, or not at all: the states are those before its first commit and after its last one. If
  /// other actions change the store meanwhile, their commits in between are included. Commits that the reducer
  /// withholds from observers (`Reducer.shouldNotifyObservers(for:in:)`) count as all others.
  ///
  /// From an action's dispatch to its end, a copy of the store's model is kept, so the action's commits trigger
  /// copy-on-write. For a large model of standard arrays and dictionaries, that takes time linear in their size.
  public static func states<Model: Sendable, Action: ActionType>(
    of store: Store<Model, Action>,
    _ body: @escaping @Sendable (_ old: Model, _ new: Model, _ run: StoreRunInfo) -> Void
  ) -> Hook {
    Hook(
      StatesHook(of: { [weak store] in $0 === store }) {
        body($0.oldModel as! Model, $0.newModel as! Model, $0.run)
      })
  }
}
