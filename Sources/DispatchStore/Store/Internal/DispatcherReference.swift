#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A dispatcher that is not kept alive, with what runs a reduction without a reference to it.
struct DispatcherReference: Sendable {
  weak let dispatcher: Dispatcher?
  let routes: Routes

  init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
    routes = Routes(
      dispatcher: dispatcher.number, threadKey: dispatcher.threadKey,
      isSimulated: dispatcher.pool.world != nil)
  }

  /// Finds a dispatcher's routes in the caches of threads.
  struct Routes {
    let dispatcher: UInt64
    let threadKey: pthread_key_t
    let isSimulated: Bool
  }
}

extension Store {
  /// Runs an action on this thread, of one store whose route the thread has.
  ///
  /// One that only reduces needs no reference to the dispatcher: the route is enough, which leaves the thread's cache
  /// with the dispatcher. Making a reference would take as long as all the rest, and write what all its threads write.
  ///
  /// - Returns: Nil where nothing has been done: the thread has no route, or the dispatcher has gone.
  @usableFromInline
  func runHere(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle? {
    guard let routes = home.withLock({ $0?.routes }) else { return nil }
    let thread = ThreadState.current(by: routes.threadKey)
    #if SIMULATION
      // The dispatcher checks which world the thread is in.
      if routes.isSimulated || thread.simulated != nil { return nil }
    #endif
    if thread.isInSection { return nil }
    let callSite = CallSite(fileID: fileID, line: line)
    if thread.isInside, DispatchContext.cancellation(on: thread, at: callSite) != nil { return nil }
    let key = RouteKey(
      dispatcher: routes.dispatcher, actionType: ObjectIdentifier(type), storeIdentifier: identifier
    )
    guard let route = thread.routeCache.take(key) else { return nil }
    if route._withUnsafeGuaranteedRef(\.isReduction) {
      if let reduced = InlineRun.reduce(action, along: route, callSite, on: thread) {
        return reduced
      }
    }
    return run(action, of: type, along: route, callSite, on: thread)
  }

  /// The same by the dispatcher, where more than a reduction follows.
  @inline(never)
  private func run(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, along route: Unmanaged<Route>,
    _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle? {
    // The store may have another one by now.
    guard let dispatcher, dispatcher.number == route._withUnsafeGuaranteedRef(\.dispatcher) else {
      route._withUnsafeGuaranteedRef { $0.end() }
      return nil
    }
    return dispatcher.run(
      action, of: type, along: route, to: identifier, nil, callSite, on: thread)
  }

  /// Claims the store for a dispatcher; returns the one that has it already.
  func enter(_ dispatcher: Dispatcher) -> Dispatcher {
    home.withLock { home in
      if let present = home?.dispatcher { return present }
      home = DispatcherReference(dispatcher)
      return dispatcher
    }
  }

  func leaveDispatcher() {
    home.withLock { $0 = nil }
  }
}
