/// An event that stores respond to.
///
/// A store responds to its action type. If that is a class, it responds to subclasses, too.
public protocol ActionType: Sendable {}

/// Any action.
public typealias AnyAction = any ActionType
