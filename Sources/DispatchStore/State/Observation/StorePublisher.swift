#if canImport(Combine)
  public import Combine
#elseif OPENCOMBINE
  // Tests/CombineSupport compiles this file on Linux.
  public import DispatchStore
  public import OpenCombine
#endif

#if canImport(Combine) || OPENCOMBINE
  /// Publishes a store's models, or a part of each, starting with the current one.
  ///
  /// A subscriber gets each value in commit order, on the thread that notifies the store's observers. To switch
  /// threads, use `receive(on:)`. A commit waits for the subscriber as for an inline observer. While a subscriber has
  /// no demand, only the newest value is kept for it. The publisher never completes, even if the store is released. A
  /// subscription retains nothing of the store but the value that waits for demand.
  public struct StorePublisher<Output: Sendable>: Publisher, Sendable {
    /// `Never`, because the publisher never fails.
    public typealias Failure = Never

    let observe: @Sendable (@escaping @Sendable (Output) -> Void) -> ObserverToken?

    /// Subscribes; the store is observed from the subscriber's first demand on.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
      subscriber.receive(subscription: StoreSubscription(subscriber, observe))
    }
  }

  extension Store {
    /// Publishes the models, starting with the current one.
    ///
    /// A change retains its model, so the next commit triggers copy-on-write. To publish only a part, use
    /// `publisher(of:)`.
    public var publisher: StorePublisher<Model> {
      StorePublisher { [weak self] body in
        self?.observe(.model, initial: true) { body($0.value) }
      }
    }

    /// Publishes the values of a source, starting with the current one.
    public func publisher<Value: Sendable>(
      of source: StateSource<Model, Value>
    ) -> StorePublisher<Value> {
      StorePublisher { [weak self] body in
        self?.observe(source, initial: true) { body($0.value) }
      }
    }

    /// Publishes on the main queue, after a change, that the store has changed.
    ///
    /// Changes that come before the queue can deliver are published once.
    public var objectWillChange: StorePublisher<Void> {
      StorePublisher { [weak self] body in
        self?.observe(.model, on: MainDelivery.main) { _ in body(()) }
      }
    }
  }

  #if OPENCOMBINE
    extension Store: @retroactive ObservableObject {}
  #else
    extension Store: ObservableObject {}
  #endif
#endif
