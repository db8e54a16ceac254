/// A change of a part of a store's model, as that part's observer receives it.
public struct PartChange<Value: Sendable, Action: ActionType>: Sendable {
  /// The part at the previous call, or at registration; nil in the first call with `initial: true`.
  public let old: Value?
  /// The part after the commit.
  public let value: Value
  /// The number of the commit, counted from 1; the current version in the first call with `initial: true`.
  public let version: UInt64
  /// The action that was dispatched, or passed to `inject`; nil if there was none.
  public let action: Action?
  /// The dispatch that made the commit; nil if it was made outside a dispatch.
  public let dispatchID: DispatchID?
}
