/// The model of the last commit, for readers that don't wait for a reduction.
///
/// Its lock is held for a copy of the model only. The store's lock orders commits.
@usableFromInline
final class PublishedModel<Model: Sendable>: Sendable {
  private let present: Locked<(model: Model, version: UInt64)>

  init(_ model: Model) { present = Locked((model, 0)) }

  /// Returns the last commit's model.
  ///
  /// Callable on any thread.
  @usableFromInline
  func read() -> Model { present.withLock { $0.model } }

  /// Returns the last commit's number.
  ///
  /// Callable on any thread.
  func readVersion() -> UInt64 { present.withLock { $0.version } }

  /// Publishes the model of a commit, and returns the former one.
  ///
  /// Called under the store's lock; the caller releases the former model outside of it.
  func publish(_ model: Model, _ version: UInt64) -> Model {
    var other = (model: model, version: version)
    present.withLock { swap(&$0, &other) }
    return other.model
  }
}
