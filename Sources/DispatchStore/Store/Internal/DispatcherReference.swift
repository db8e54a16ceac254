import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A weak reference to a dispatcher, shared by all of its stores.
final class DispatcherReference: @unchecked Sendable {
  // because `dispatcher` is set once, before another thread knows the dispatcher
  weak var dispatcher: Dispatcher?
  private let number: UInt64
  private let threadKey: pthread_key_t
  private let isSimulated: Bool

  init(number: UInt64, threadKey: pthread_key_t, isSimulated: Bool) {
    self.number = number
    self.threadKey = threadKey
    self.isSimulated = isSimulated
  }

  /// Runs an action on this thread, for a store whose route the thread has cached.
  ///
  /// A plain reduction needs no strong reference to the dispatcher. The route is enough, because it leaves the
  /// thread's cache with the dispatcher. Making a reference would double the cost, and write memory that all threads
  /// of the dispatcher write.
  ///
  /// - Returns: Nil if nothing was done, because the thread has no route, or the dispatcher is gone.
  func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, to storeIdentifier: String,
    _ callSite: CallSite
  ) -> DispatchHandle? {
    let thread = ThreadState.current(by: threadKey)
    #if SIMULATION
      // The dispatcher checks which world the thread is in.
      if isSimulated || thread.simulated != nil { return nil }
    #endif
    if thread.isInSection { return nil }
    if thread.isInside, DispatchContext.cancellation(on: thread, at: callSite) != nil { return nil }
    let key = RouteKey(
      dispatcher: number, actionType: ObjectIdentifier(type), storeIdentifier: storeIdentifier)
    guard let route = thread.routeCache.take(key) else { return nil }
    if route._withUnsafeGuaranteedRef(\.isReduction) {
      if let reduced = InlineRun.reduce(action, along: route, callSite, on: thread) {
        return reduced
      }
    }
    return run(action, of: type, along: route, to: storeIdentifier, callSite, on: thread)
  }

  /// Runs an action through the dispatcher, if it needs more than a reduction.
  @inline(never)
  private func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, along route: Unmanaged<Route>,
    to storeIdentifier: String, _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle? {
    guard let dispatcher else {
      route._withUnsafeGuaranteedRef { $0.end() }
      return nil
    }
    return dispatcher.run(
      action, of: type, along: route, to: storeIdentifier, nil, callSite, on: thread)
  }
}

extension Store {
  /// Runs an action on this thread, if it has a route; see `DispatcherReference.run`.
  @usableFromInline
  func runHere(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle? {
    UnsafeRawPointer(bitPattern: home.load(ordering: .acquiring)).flatMap {
      Unmanaged<DispatcherReference>.fromOpaque($0)._withUnsafeGuaranteedRef {
        $0.run(action, of: type, to: identifier, CallSite(fileID: fileID, line: line))
      }
    }
  }

  /// Claims the store for a dispatcher.
  ///
  /// Returns the store's dispatcher, which is another one if it was claimed before.
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
