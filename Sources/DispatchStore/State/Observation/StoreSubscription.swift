#if canImport(Combine)
  import Combine
  import Foundation
#elseif OPENCOMBINE
  import DispatchStore
  import Foundation
  import OpenCombine
#endif

#if canImport(Combine) || OPENCOMBINE
  /// The target of a store's observer, without the subscriber's type, which is not Sendable.
  class ValueReceiver<Value: Sendable>: @unchecked Sendable {
    // because its subclass is
    func receive(_ value: Value) { fatalError("ValueReceiver is abstract.") }

    final var weakReceive: @Sendable (Value) -> Void {
      { [weak self] value in self?.receive(value) }
    }
  }

  /// A subscriber's subscription to a `StorePublisher`.
  final class StoreSubscription<Downstream: Subscriber>: ValueReceiver<Downstream.Input>,
    Subscription, @unchecked Sendable
  where Downstream.Input: Sendable, Downstream.Failure == Never {
    // because `lock` guards the mutable state, and one thread at a time calls the subscriber
    typealias Observe =
      @Sendable (@escaping @Sendable (Downstream.Input) -> Void) -> ObserverToken?

    private let lock = NSLock()
    private var demand = Subscribers.Demand.none
    private var newest: Downstream.Input?
    private var isSending = false
    private var subscriber: Downstream?
    private var observe: Observe?
    private var token: ObserverToken?

    init(_ subscriber: Downstream, _ observe: @escaping Observe) {
      self.subscriber = subscriber
      self.observe = observe
      super.init()
    }

    func request(_ more: Subscribers.Demand) {
      let observe = lock.withLock {
        demand += more
        defer { self.observe = nil }
        return self.observe
      }
      if let observe { begin(observe) }
      send()
    }

    private func begin(_ observe: Observe) {
      let token = observe(weakReceive)
      let isCancelled = lock.withLock {
        if subscriber != nil { self.token = token }
        return subscriber == nil
      }
      if isCancelled { token?.cancel() }
    }

    override func receive(_ value: Downstream.Input) {
      let former = lock.withLock {
        defer { if subscriber != nil { newest = value } }
        return newest
      }
      // Outside the lock, as in `cancel()`.
      withExtendedLifetime(former) {}
      send()
    }

    /// Sends the pending values; a thread that comes meanwhile leaves its value to this one.
    private func send() {
      while let (subscriber, value) = lock.withLock({ takeNext() }) {
        let more = subscriber.receive(value)
        lock.withLock {
          isSending = false
          demand += more
        }
      }
    }

    /// Takes the value to send now; nil if there is no value or no demand, or while another value is being sent.
    private func takeNext() -> (Downstream, Downstream.Input)? {
      guard !isSending, demand > .none, let subscriber, let value = newest else { return nil }
      newest = nil
      demand -= 1
      isSending = true
      return (subscriber, value)
    }

    func cancel() {
      // Released outside the lock, because releasing these may run the program's code.
      let released = lock.withLock {
        defer { (subscriber, observe, token, newest) = (nil, nil, nil, nil) }
        return (subscriber, observe, token, newest)
      }
      released.2?.cancel()
    }
  }
#endif
