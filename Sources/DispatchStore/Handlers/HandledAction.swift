/// An action of any type, as a store of handlers gets it.
///
/// The action type of such a store: `Store<Model, HandledAction>`, or `HandlerStore<Model>`. Programs dispatch the actions
/// themselves, and find them in `base` where an observer or the store's history shows what ran.
public struct HandledAction: ActionType, CustomStringConvertible {
  /// The action that was dispatched.
  public let base: any ActionType
  /// The store's handler when the action was dispatched; a later one does not take its place.
  @usableFromInline let handler: (any AnyObject & Sendable)?

  /// Wraps an action, for what takes the store's own action type.
  public init(_ base: any ActionType) {
    self.init(base, handler: nil)
  }

  @usableFromInline
  init(_ base: any ActionType, handler: (any AnyObject & Sendable)?) {
    self.base = base
    self.handler = handler
  }

  /// The description of the action itself.
  public var description: String { "\(base)" }
}

/// A store that responds to every action type for which it has a handler.
public typealias HandlerStore<Model: Sendable> = Store<Model, HandledAction>
/// A child of such a store, or the whole of one: what handlers get that do more than reduce.
public typealias ChildHandlerStore<Model: Sendable> = ChildStore<Model, HandledAction>
/// The same for a part that may be gone.
public typealias OptionalChildHandlerStore<Model: Sendable> =
  OptionalChildStore<Model, HandledAction>
