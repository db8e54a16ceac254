/// A commit that has changed one element of a collection, as the observers of this element get it.
public struct ElementChange<Element: Sendable, Action: ActionType>: Sendable {
  /// The element as the observer knew it before; nil where it was absent, and where the present one is delivered first.
  public let old: Element?
  /// The element after the commit; nil where it is absent.
  public let new: Element?
  /// The number of the commit, counted from 1; 0 for the model that a store began with.
  public let version: UInt64
  /// The action that the dispatch ran, or that `inject` was given; nil where there was none.
  public let action: Action?
  /// The dispatch that made the commit; nil for one outside a dispatch.
  public let transaction: TransactionID?

  @inlinable
  init(
    old: Element?, new: Element?, version: UInt64, action: Action?, transaction: TransactionID?
  ) {
    self.old = old
    self.new = new
    self.version = version
    self.action = action
    self.transaction = transaction
  }
}
