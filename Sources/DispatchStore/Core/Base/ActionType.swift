/// An event that stores respond to.
///
/// A store responds to its action type and, where that is a class, to its subclasses.
public protocol ActionType: Sendable {}

/// Any action.
public typealias AnyAction = any ActionType
