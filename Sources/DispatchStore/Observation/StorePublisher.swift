#if canImport(Combine)
  public import Combine
#elseif OPENCOMBINE
  // Tests/CombineSupport compiles this file on Linux.
  public import DispatchStore
  public import OpenCombine
#endif

#if canImport(Combine) || OPENCOMBINE
  /// Publishes a store's models, or a part of each, from the present one on.
  ///
  /// A subscriber gets each value on the thread that notifies the store's observers, in commit order; use `receive(on:)`
  /// for another one. A commit waits for that as for an inline observer. While a subscriber has no demand, only the
  /// newest value is kept for it. It never completes, also where the store goes: the subscription keeps nothing
  /// of the store but the value that waits for demand.
  public struct StorePublisher<Output: Sendable>: Publisher, Sendable {
    /// It never fails.
    public typealias Failure = Never

    let observe: @Sendable (@escaping @Sendable (Output) -> Void) -> ObserverToken?

    /// Begins to observe the store with the subscriber's first demand.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
      subscriber.receive(subscription: StoreSubscription(subscriber, observe))
    }
  }

  extension Store {
    /// Publishes the models, from the present one on.
    ///
    /// A change keeps its model, so the next commit copies what that stores: for a part of it, pass a projection.
    public var publisher: StorePublisher<Model> {
      StorePublisher { [weak self] body in
        self?.observe(initial: true) { body($0.model) }
      }
    }

    /// Publishes a part of each model, from the present one on.
    ///
    /// - Parameter projection: Called in the exclusive section of each commit, on its thread: it reads its argument
    ///   alone, and is quick.
    public func publisher<Value: Sendable>(
      of projection: @escaping @Sendable (Model) -> Value
    ) -> StorePublisher<Value> {
      StorePublisher { [weak self] body in
        self?.observe(projection, initial: true) { body($0.model) }
      }
    }

    /// Publishes on the main queue that the store has changed: after the change, and once for those that came
    /// before the queue had time for it.
    public var objectWillChange: StorePublisher<Void> {
      StorePublisher { [weak self] body in
        self?.observe(on: MainDelivery.main) { _ in body(()) }
      }
    }
  }

  #if OPENCOMBINE
    extension Store: @retroactive ObservableObject {}
  #else
    extension Store: ObservableObject {}
  #endif
#endif
