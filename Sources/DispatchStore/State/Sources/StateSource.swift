/// The part of a store's state to follow: the model, a part of it, a selector's value, an element, or deltas.
///
/// Pass it to `Store.observe` to have a closure called, or to `Store.stream` to iterate:
///
///     let token = store.observe(.part(\.total), on: .main) { change in label.show(change.value) }
///     for await change in store.stream(.deltas(\.orders), initial: true) { change.value.apply(to: &copy) }
///
/// Commits that `shouldNotifyObservers(for:in:)` excludes are no changes of their own: the next change includes them.
public struct StateSource<Root: Sendable, Value: Sendable>: Sendable {
  @usableFromInline
  enum Kind: Sendable {
    /// The whole model, whose type is `Value`.
    case model
    /// Values that are read at each commit; makes a reader for one subscription.
    ///
    /// A stream passes its store's storage, whose computed values the reader may share.
    case values(@Sendable (_ sharing: StoreStorage?) -> StateReader<Value>)
  }

  @usableFromInline let kind: Kind

  @usableFromInline
  init(_ kind: Kind) {
    self.kind = kind
  }
}

extension StateSource where Value == Root {
  /// The whole model: a change for each commit that notifies observers.
  ///
  /// An inline observer gets the model of each commit. No model is kept for one on a queue, which reads the present
  /// one with `value`, nor for a stream by default, which reads it when the consumer takes the change.
  @inlinable
  public static var model: Self { Self(.model) }
}
