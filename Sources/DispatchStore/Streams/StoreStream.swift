/// An asynchronous sequence of a store's models, changes, values or deltas.
///
/// Each iterator is a subscription, with a buffer that no other iterator shares: it begins where the iterator is made
/// (`for await` makes one), and ends where the iterator is released, where the task that iterates is cancelled, or
/// once the store has gone and what was kept has been taken. The sequence and its iterators don't keep the store alive.
///
///     for await count in store.values(of: \.count) { print(count) }
///
/// Elements come in commit order. They are kept at the commit, in its exclusive section, so that no delivery turn is
/// taken, and the consumer is resumed once the section has been left. An iterator is used by one task at a time.
public struct StoreStream<Element: Sendable>: AsyncSequence, Sendable {
  /// It throws no error.
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

  /// A subscription to a store; released, it ends.
  public struct Iterator: AsyncIteratorProtocol {
    /// It throws no error.
    public typealias Failure = Never

    @usableFromInline let subscription: StreamSubscription
    /// Makes an element of what was kept, outside of locks; nil where it is not to be delivered.
    @usableFromInline let receive: (StreamedElement) -> Element?

    @inlinable
    init(_ subscription: StreamSubscription, receive: @escaping (StreamedElement) -> Element?) {
      (self.subscription, self.receive) = (subscription, receive)
    }

    /// The next element; nil at the end, and once the calling task is cancelled, also where elements are left.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      while let kept = await subscription.next() {
        if let element = receive(kept) { return element }
      }
      return nil
    }

    /// The same, isolated to the caller's actor.
    @inlinable
    public nonisolated(nonsending) mutating func next() async -> Element? {
      await next(isolation: #isolation)
    }
  }
}

@available(*, unavailable)
extension StoreStream.Iterator: Sendable {}
