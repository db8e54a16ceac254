/// An action of any type, as a store of handlers receives it.
///
/// `HandlerStore<Model>` is `Store<Model, HandledAction>`. You dispatch your own actions. In an observer or in the
/// store's history, `base` is the action that ran: dispatch that, if another store is to get it. Effects do not follow an
/// action in its wrapping.
public struct HandledAction: ActionType, CustomStringConvertible {
  /// The action that was dispatched.
  public let base: any ActionType
  /// The handler of the store that gets the action, attached by its registry entry; means nothing to another store.
  @usableFromInline let handler: (any AnyObject & Sendable)?

  /// Wraps an action, for an API that takes the store's own action type.
  ///
  /// An action that is wrapped already is not wrapped again.
  public init(_ base: any ActionType) {
    self.init(Self.unwrapped(base), handler: nil)
  }

  @usableFromInline
  init(_ base: any ActionType, handler: (any AnyObject & Sendable)?) {
    (self.base, self.handler) = (base, handler)
  }

  /// Returns an action without its wrapping, if it has one.
  package static func unwrapped(_ action: any ActionType) -> any ActionType {
    (action as? HandledAction)?.base ?? action
  }

  /// The description of the action itself.
  public var description: String { "\(base)" }
}

extension HandledAction: WrappedAction {}

/// A store that responds to every action type for which it has a handler.
public typealias HandlerStore<Model: Sendable> = Store<Model, HandledAction>
