extension Store {
  /// Streams the values of a selector, beginning with the current one.
  ///
  /// An equal value is not delivered twice in a row.
  ///
  /// A lagging consumer gets the value for the model at the time when it takes it: nothing is kept, and a commit
  /// computes nothing. The consumer's task computes the value, as `select(_:)` does, so consumers of one selector
  /// share the result. The stream ends with the store.
  ///
  /// - Parameter selector: The selector. It reads the model in the exclusive section, on the consumer's thread.
  public func values<Value: Sendable & Equatable>(
    of selector: StateSelector<Model, Value>
  ) -> StoreStream<Value> {
    StoreStream { [weak self] in
      weak let store = self
      let subscription = StreamSubscription(to: self, .bufferingOldest(1), initial: true) { _, _ in
        Streamed<Bool>(true)
      }
      var last: Value?
      return StoreStream<Value>.Iterator(subscription) { _ in
        guard let value = store?.select(selector), value != last else { return nil }
        last = value
        return value
      }
    }
  }
}
