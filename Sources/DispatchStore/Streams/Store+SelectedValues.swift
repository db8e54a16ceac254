extension Store {
  /// The values of a selector, beginning with the present one; an equal one is not delivered again.
  ///
  /// A consumer that is behind gets the value for the model as it is when it comes to take it: nothing is kept, and a
  /// commit computes nothing. The consumer's task selects, as by `select(_:)`, so that several consumers of a selector share
  /// what is computed. The stream ends with the store.
  ///
  /// - Parameter selector: Where it reads the model, called in the exclusive section, on the consumer's thread.
  public func values<Value: Sendable & Equatable>(
    of selector: Selector<Model, Value>
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
