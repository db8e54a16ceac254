/// The decision of a hook before an action; later versions may add cases.
@nonexhaustive
public enum ActionVerdict<Action: ActionType>: Sendable {
  /// Passes the action unchanged.
  case pass
  /// Passes another action of the same type; for a store of handlers, of the dispatched action's type.
  case replace(with: Action)
  /// Passes no action, so that the store run ends as vetoed.
  case veto(reason: String)

  var untyped: MiddlewareVerdict {
    switch self {
    case .pass: .pass
    case .replace(let action): .replace(with: (action as? HandledAction)?.base ?? action)
    case .veto(let reason): .veto(reason: reason)
    }
  }
}
