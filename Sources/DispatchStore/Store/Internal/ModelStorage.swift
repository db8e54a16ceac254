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

  /// Where reads are published, what is read; code that is tracked is about to do so.
  @usableFromInline
  func publishedToRead(on thread: ThreadState) -> PublishedModel<Model>? {
    guard let published else { return nil }
    // Inside an exclusive section no second lock is locked, and so the read is not tracked.
    if thread.exclusive == nil { noteRead(on: thread) }
    return published
  }

  override func publish() {
    published?.publish(model.pointee, version)
  }

  deinit {
    model.deinitialize(count: 1)
    model.deallocate()
  }
}
