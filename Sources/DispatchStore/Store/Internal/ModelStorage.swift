/// A store's model, with the rest of its state, without the store.
@usableFromInline
final class ModelStorage<Model: Sendable, Action: ActionType>: StoreStorage, @unchecked Sendable {
  // because every access to what changes holds `lock`
  @usableFromInline
  let model: UnsafeMutablePointer<Model>

  /// Of a store whose reads are published.
  let published: PublishedModel<Model>?

  @usableFromInline
  init(identifier: String, model: Model, reads: StoreReads) {
    self.model = .allocate(capacity: 1)
    self.model.initialize(to: model)
    published = reads == .published ? PublishedModel(model) : nil
    super.init(identifier: identifier, publishes: reads == .published)
  }

  /// The model of the last commit, with its version, where reads are published.
  @usableFromInline
  func readPublished(on thread: ThreadState) -> (model: Model, version: UInt64)? {
    guard let published else { return nil }
    // Inside an exclusive section no second lock is locked, and so the read is not tracked.
    if thread.exclusive == nil { noteRead(on: thread) }
    return published.read()
  }

  override func publish() {
    published?.publish(model.pointee, version)
  }

  deinit {
    model.deinitialize(count: 1)
    model.deallocate()
  }
}
