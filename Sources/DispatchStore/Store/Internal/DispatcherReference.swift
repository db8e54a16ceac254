import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What stores have of their dispatcher, which they don't keep alive: one for all of them.
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

  /// Runs an action on this thread, of one store whose route the thread has.
  ///
  /// One that only reduces needs no reference to the dispatcher: the route is enough, which leaves the thread's cache
  /// with the dispatcher. Making a reference would take as long as all the rest, and write what all its threads write.
  ///
  /// - Returns: Nil where nothing has been done: the thread has no route, or the dispatcher has gone.
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

  /// The same by the dispatcher, where more than a reduction follows.
  @inline(never)
  private func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, along route: Unmanaged<Route>,
    to storeIdentifier: String, _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle? {
    // The dispatcher refuses what may block.
    guard let dispatcher, !BlockingRegion.isRefused(on: thread) else {
      route._withUnsafeGuaranteedRef { $0.end() }
      return nil
    }
    return dispatcher.run(
      action, of: type, along: route, to: storeIdentifier, nil, callSite, on: thread)
  }
}

extension Store {
  /// As `DispatcherReference.run`.
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

  /// Claims the store for a dispatcher; returns the one that has it already.
  func enter(_ dispatcher: Dispatcher) -> Dispatcher {
    homesLock.withLockOfProcess { _ in
      if let present = self.dispatcher { return present }
      let reference = dispatcher.reference
      // Kept until the store goes: a thread may be about to read a former one.
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

/// Guards the `homes` of all stores; locked only where one is registered or unregistered.
///
/// Of a value without a size, Thread Sanitizer would take the accesses for accesses to what follows.
private let homesLock = Locked(0)
