/// A store's model and the rest of its state, separate from the store object.
@usableFromInline
final class ModelStorage<Model: Sendable, Action: ActionType>: StoreStorage, @unchecked Sendable {
  // because every access to mutable state holds `lock`
  @inlinable
  var model: UnsafeMutablePointer<Model> { modelAddress.assumingMemoryBound(to: Model.self) }

  /// The published model, for a store whose reads are published.
  let published: PublishedModel<Model>?

  @usableFromInline
  init(
    identifier: String, model: Model, reads: StoreReads,
    makeUndo: @escaping @Sendable () -> ModelUndo
  ) {
    published = reads == .published ? PublishedModel(model) : nil
    super.init(
      identifier: identifier, publishes: reads == .published,
      modelSize: MemoryLayout<Model>.size, modelAlignment: MemoryLayout<Model>.alignment,
      makeUndo: makeUndo)
    modelAddress.bindMemory(to: Model.self, capacity: 1).initialize(to: model)
  }

  /// The current model, with its version.
  var snapshot: (model: Model, version: UInt64) {
    ExclusiveSection.check(self, "read", on: .current)
    yieldPoint(.read, identifier)
    return withLock { _ in (model.pointee, version) }
  }

  /// Returns the published model, if reads are published.
  ///
  /// Notes the read for code that is tracked; an exclusive section must not take a second lock, so there it is not.
  @usableFromInline
  func publishedToRead(on thread: ThreadState) -> PublishedModel<Model>? {
    guard let published else { return nil }
    if thread.isInSection {
      // The published model lacks what the atomic action of this thread has changed.
      return AtomicStep.hasReduced(self, on: thread) ? nil : published
    }
    noteRead(on: thread)
    return published
  }

  override func publish() -> [any Sendable] {
    guard let published else { return [] }
    return [published.publish(model.pointee, version)]
  }

  deinit {
    model.deinitialize(count: 1)
  }
}
