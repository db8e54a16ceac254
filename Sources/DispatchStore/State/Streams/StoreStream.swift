/// An asynchronous sequence of a store's models, changes, values or deltas.
///
///     for await count in store.values(of: \.count) { print(count) }
///
/// Each iterator is a subscription with a buffer of its own. It begins when the iterator is made (`for await` makes
/// one). It ends in one of three ways:
///
/// - The iterator is released.
/// - The task that iterates is cancelled.
/// - The store is gone, and the consumer has taken all kept elements.
///
/// The sequence and its iterators don't keep the store alive.
///
/// Elements come in commit order. They are kept in the commit's exclusive section, without a delivery turn. The
/// consumer is resumed after the section. Only one task at a time may use an iterator.
public struct StoreStream<Element: Sendable>: AsyncSequence, Sendable {
  /// Iteration throws no error.
  public typealias Failure = Never

  private let subscribe: @Sendable () -> Iterator

  @usableFromInline
  init(_ subscribe: @escaping @Sendable () -> Iterator) {
    self.subscribe = subscribe
  }

  /// Subscribes to the store.
  public func makeAsyncIterator() -> Iterator {
    subscribe()
  }

  /// A subscription to a store.
  ///
  /// Releasing it ends the subscription.
  public struct Iterator: AsyncIteratorProtocol {
    /// Iteration throws no error.
    public typealias Failure = Never

    @usableFromInline let subscription: StreamSubscription
    /// Converts a kept element, outside of locks.
    ///
    /// Nil skips it.
    @usableFromInline let receive: (StreamedElement) -> Element?

    @inlinable
    init(_ subscription: StreamSubscription, receive: @escaping (StreamedElement) -> Element?) {
      (self.subscription, self.receive) = (subscription, receive)
    }

    /// Returns the next element, or nil at the end.
    ///
    /// Once the calling task is cancelled it returns nil, even if elements are left.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      while let kept = await subscription.next() {
        if let element = receive(kept) { return element }
      }
      return nil
    }

    /// Returns the next element, or nil at the end; runs on the caller's actor.
    @inlinable
    public nonisolated(nonsending) mutating func next() async -> Element? {
      await next(isolation: #isolation)
    }
  }
}

@available(*, unavailable)
extension StoreStream.Iterator: Sendable {}
