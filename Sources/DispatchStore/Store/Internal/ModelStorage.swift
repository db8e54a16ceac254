/// A store's model, with the rest of its state, without the store.
@usableFromInline
final class ModelStorage<Model: Sendable, Action: ActionType>: StoreStorage, @unchecked Sendable {
  // because every access to what changes holds `lock`
  @usableFromInline
  let model: UnsafeMutablePointer<Model>

  @usableFromInline
  init(identifier: String, model: Model) {
    self.model = .allocate(capacity: 1)
    self.model.initialize(to: model)
    super.init(identifier: identifier)
  }

  deinit {
    model.deinitialize(count: 1)
    model.deallocate()
  }
}
