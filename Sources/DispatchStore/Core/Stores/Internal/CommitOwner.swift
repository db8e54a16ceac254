/// The party that changes a store: a store run, or a dispatch without one.
@usableFromInline
protocol CommitOwner: AnyObject, Sendable {
  var dispatchID: DispatchID { get }

  /// Returns the action, for commits to the store of the store run.
  func action<Model, Action>(in store: Store<Model, Action>) -> Action?

  /// The dispatch that ends after its commits are delivered.
  var waiting: Dispatch? { get }

  /// Whether the thread that commits to a store saves the commit itself, and does nothing else before.
  func savesNext(_ storage: StoreStorage) -> Bool

  /// The number of its deferred commits: not delivered by the notifier, or held back by a stream.
  ///
  /// Called under the store's lock.
  var undeliveredCount: Int { get }

  /// Notes that the delivery of a commit was left to the notifier, or that a stream holds it back.
  ///
  /// Called under the store's lock.
  func commitDeferred()

  /// Notes that the owner need not wait for such a commit any longer: the notifier has delivered it, or is blocked, or
  /// the stream's consumer has come.
  func commitDelivered()
}
