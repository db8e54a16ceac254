/// On whose behalf a store is changed: one store's part in a dispatch.
@usableFromInline
protocol CommitOwner: AnyObject, Sendable {
  var transaction: TransactionID { get }

  /// The action, for commits to the store that the part is of.
  func action<Model, Action>(in store: Store<Model, Action>) -> Action?

  /// One of its commits was left to another thread to tell: said under the store's lock.
  func commitDeferred()

  /// A commit that had been left was told.
  func commitDelivered()
}
