/// An asynchronous sequence of a store's models, changes or values.
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

  private let subscribe: @Sendable () -> StreamSubscription<Element>

  init(_ subscribe: @escaping @Sendable () -> StreamSubscription<Element>) {
    self.subscribe = subscribe
  }

  /// Subscribes to the store.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: subscribe())
  }

  /// A subscription to a store; released, it ends.
  public struct Iterator: AsyncIteratorProtocol {
    /// It throws no error.
    public typealias Failure = Never

    fileprivate let subscription: StreamSubscription<Element>

    /// The next element; nil at the end, and once the calling task is cancelled, also where elements are left.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await subscription.next()
    }

    /// The same, isolated to the caller's actor.
    public nonisolated(nonsending) mutating func next() async -> Element? {
      await subscription.next()
    }
  }
}

@available(*, unavailable)
extension StoreStream.Iterator: Sendable {}
