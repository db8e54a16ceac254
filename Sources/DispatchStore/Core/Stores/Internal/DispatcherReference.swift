/// A dispatcher that a store does not keep alive.
struct DispatcherReference: Sendable {
  weak let dispatcher: Dispatcher?
}

extension Store {
  /// Claims the store for a dispatcher.
  ///
  /// Returns the store's dispatcher, which is another one if it was claimed before.
  func enter(_ dispatcher: Dispatcher) -> Dispatcher {
    home.withLock { home in
      if let present = home?.dispatcher { return present }
      home = DispatcherReference(dispatcher: dispatcher)
      return dispatcher
    }
  }

  func leaveDispatcher() {
    home.withLock { $0 = nil }
  }
}
