/// An action of any type, as a store of handlers receives it.
///
/// `HandlerStore<Model>` is `Store<Model, HandledAction>`. You dispatch your own actions. In an observer or in the
/// store's history, `base` is the action that ran: dispatch that, if another store is to get it. Effects do not follow an
/// action in its wrapping.
public struct HandledAction: ActionType, CustomStringConvertible {
  /// The action that was dispatched.
  public let base: any ActionType
  /// The store's handler when the action was dispatched.
  ///
  /// A handler that is added later does not replace it.
  @usableFromInline let handler: (any AnyObject & Sendable)?
  /// The rank of that store, zero for none: another store, which may get the action from an observer, uses its own handler.
  ///
  /// Not an address, because the action may outlive the store.
  @usableFromInline let owner: UInt64

  /// Wraps an action, for an API that takes the store's own action type.
  ///
  /// An action that is wrapped already is not wrapped again.
  public init(_ base: any ActionType) {
    self.init(Self.unwrapped(base), handler: nil, of: 0)
  }

  @usableFromInline
  init(
    _ base: any ActionType, handler: (any AnyObject & Sendable)?, of owner: UInt64
  ) {
    (self.base, self.handler, self.owner) = (base, handler, owner)
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
