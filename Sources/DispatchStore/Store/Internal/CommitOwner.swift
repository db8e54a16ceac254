/// On whose behalf a store is changed: a store run, or a dispatch that has none.
@usableFromInline
protocol CommitOwner: AnyObject, Sendable {
  var transaction: TransactionID { get }

  /// The action, for commits to the store of the store run.
  func action<Model, Action>(in store: Store<Model, Action>) -> Action?

  /// The dispatch that ends after its commits are delivered.
  var waiting: Dispatch? { get }

  /// How many of its commits were left and are not delivered; called under the store's lock.
  var undeliveredCount: Int { get }

  /// The delivery of one of its commits was left to the notifier; called under the store's lock.
  func commitDeferred()

  /// The notifier has delivered such a commit, or is blocked, so that the owner no longer waits for it.
  func commitDelivered()
}
