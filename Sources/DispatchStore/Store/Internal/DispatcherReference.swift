import Synchronization

/// The weak reference that the stores of a dispatcher share.
final class DispatcherReference: @unchecked Sendable {
  // because `dispatcher` is set once, before another thread knows the dispatcher
  weak var dispatcher: Dispatcher?
}

extension Store {
  /// Claims the store for a dispatcher; returns the one that has it already.
  func enter(_ dispatcher: Dispatcher) -> Dispatcher {
    homesLock.withLockOfProcess { _ in
      if let present = self.dispatcher { return present }
      let reference = dispatcher.reference
      // Kept until the store goes, because a thread may be about to read a former reference.
      if !homes.contains(where: { $0 === reference }) { homes.append(reference) }
      let address = Unmanaged.passUnretained(reference).toOpaque()
      home.store(UInt(bitPattern: address), ordering: .releasing)
      return dispatcher
    }
  }

  func leaveDispatcher() {
    homesLock.withLockOfProcess { _ in home.store(0, ordering: .releasing) }
  }
}

/// Guards the `homes` of all stores.
///
/// Locked only when a store is registered or unregistered.
///
/// Not `Void`: for a value without a size, Thread Sanitizer would report accesses to the memory behind it.
private let homesLock = Locked(0)
