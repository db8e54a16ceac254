/// A commit that has changed one element of a collection, as this element's observers receive it.
public struct ElementChange<Element: Sendable, Action: ActionType>: Sendable {
  /// The element before; nil if it was absent, or if this is the initial delivery of the current element.
  public let old: Element?
  /// The element after the commit; nil if it is absent.
  public let new: Element?
  /// The number of the commit, counted from 1; 0 for the store's initial model.
  public let version: UInt64
  /// The action that was dispatched, or passed to `inject`; nil if there was none.
  public let action: Action?
  /// The dispatch that made the commit; nil if it was made outside a dispatch.
  public let dispatchID: DispatchID?

  @inlinable
  init(
    old: Element?, new: Element?, version: UInt64, action: Action?, dispatchID: DispatchID?
  ) {
    self.old = old
    self.new = new
    self.version = version
    self.action = action
    self.dispatchID = dispatchID
  }
}
