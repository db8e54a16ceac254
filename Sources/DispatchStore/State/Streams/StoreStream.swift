/// An asynchronous sequence of a store's changes, made by `Store.stream`.
///
///     for await change in store.stream(.part(\.count)) { print(change.value) }
///
/// A stream is one subscription, which begins when the stream is made. The first iterator takes it (`for await` makes
/// one). Each further iterator begins a subscription of its own, with a buffer of its own, when it is made. A
/// subscription ends in one of these ways:
///
/// - The iterator is released. If the stream has no iterator yet, the stream is released.
/// - The task that iterates is cancelled.
/// - The store is gone, and the consumer has taken all kept changes.
///
/// The stream and its iterators don't keep the store alive.
///
/// Changes come in commit order. They are kept in the commit's exclusive section, without a delivery turn. The
/// consumer is resumed after the section. Only one task at a time may use an iterator.
public struct StoreStream<Element: Sendable>: AsyncSequence, Sendable {
  private let subscribe: @Sendable () -> Iterator
  /// The subscription that the first iterator takes.
  private let first: Locked<Iterator?>

  @usableFromInline
  init(_ subscribe: @escaping @Sendable () -> Iterator) {
    self.subscribe = subscribe
    first = Locked(subscribe())
  }

  /// Takes the stream's subscription, or begins another one if it was taken.
  public func makeAsyncIterator() -> Iterator {
    first.exchange(nil) ?? subscribe()
  }

  /// A subscription to a store.
  ///
  /// Releasing it ends the subscription.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil if the store had gone when it was to begin.
    @usableFromInline let subscription: StreamSubscription?
    /// Converts a kept note, outside of locks.
    ///
    /// Nil skips it.
    @usableFromInline let receive: (KeptNote) -> Element?

    @inlinable
    init(_ subscription: StreamSubscription?, receive: @escaping (KeptNote) -> Element?) {
      (self.subscription, self.receive) = (subscription, receive)
    }

    /// Returns the next change, or nil at the end.
    ///
    /// Once the calling task is cancelled it returns nil, even if changes are left.
    @inlinable
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> Element? {
      while let note = await subscription?.next() {
        guard let element = receive(note) else { continue }
        subscription?.hasDelivered()
        return element
      }
      return nil
    }
  }
}

@available(*, unavailable)
extension StoreStream.Iterator: Sendable {}
