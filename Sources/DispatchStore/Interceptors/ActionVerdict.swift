/// What a typed middleware decides about an action; later versions may add cases.
@nonexhaustive
public enum ActionVerdict<Action: ActionType>: Sendable {
  /// The action as it is.
  case pass
  /// Another action of the same type; for a store of handlers, of the dispatched action's type.
  case replace(with: Action)
  /// No action: the store run ends as vetoed.
  case veto(reason: String)

  var untyped: MiddlewareVerdict {
    switch self {
    case .pass: .pass
    case .replace(let action): .replace(with: (action as? HandledAction)?.base ?? action)
    case .veto(let reason): .veto(reason: reason)
    }
  }
}
