/// A change of a part of a store's model, as the observer of that part gets it.
public struct PartChange<Value: Sendable, Action: ActionType>: Sendable {
  /// What the observer was called with before, or what the part was when it was registered; nil in the first call
  /// with `initial: true`.
  public let old: Value?
  /// The part after the commit.
  public let value: Value
  /// The number of the commit, counted from 1; that of the present model in the first call with `initial: true`.
  public let version: UInt64
  /// The action that the dispatch ran, or that `inject` was given; nil where there was none.
  public let action: Action?
  /// The dispatch that made the commit; nil for one outside a dispatch.
  public let transaction: TransactionID?
}
