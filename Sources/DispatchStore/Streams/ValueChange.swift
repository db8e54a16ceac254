/// One commit of a store in a stream of changes: its action, and a value before and after it.
public struct ValueChange<Value: Sendable, Action: ActionType>: Sendable {
  /// The value after the change before this one; for the present state, with which a stream may begin, the same as
  /// `new`.
  public let old: Value
  /// The value after the commit.
  public let new: Value
  /// The number of the commit, counted from 1; 0 for the state that a store began with.
  public let version: UInt64
  /// The action that the dispatch ran, or that `inject` was given; nil where there was none, and for the present state.
  public let action: Action?
  /// The dispatch that made the commit; nil for one outside a dispatch, and for the present state.
  public let transaction: TransactionID?

  /// Makes a change, for tests of what consumes them.
  public init(
    old: Value, new: Value, version: UInt64, action: Action?, transaction: TransactionID? = nil
  ) {
    (self.old, self.new, self.version) = (old, new, version)
    (self.action, self.transaction) = (action, transaction)
  }
}

extension ValueChange: Equatable where Value: Equatable, Action: Equatable {}
