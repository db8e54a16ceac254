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

  /// Takes an action to a store that only reduces, without a reference to the dispatcher: its route is enough, which
  /// leaves the thread's cache with it.
  ///
  /// Making such a reference would take as long as all the rest, and write what all its threads write.
  ///
  /// - Returns: Nil where it takes more than a reduction, and nothing has been done.
  func reduce(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, by identifier: String,
    _ callSite: CallSite
  ) -> DispatchHandle? {
    let thread = ThreadState.current(by: threadKey)
    if isSimulated || thread.exclusive != nil { return nil }
    let key = RouteKey(
      dispatcher: number, actionType: ObjectIdentifier(type), storeIdentifier: identifier)
    guard let route = thread.routeCache.take(key) else { return nil }
    return InlineRun.withMemory { run in
      run.initialize(to: InlineRun(action, to: route, of: nil, nil, callSite, on: thread))
      return run.reduceHere(on: thread)
    }
  }
}

extension Store {
  /// As `DispatcherReference.reduce`.
  @usableFromInline
  func reduce(
    _ action: UnsafeRawPointer, of type: any ActionType.Type, _ fileID: StaticString, _ line: UInt
  ) -> DispatchHandle? {
    UnsafeRawPointer(bitPattern: home.load(ordering: .acquiring)).flatMap {
      Unmanaged<DispatcherReference>.fromOpaque($0)._withUnsafeGuaranteedRef {
        $0.reduce(action, of: type, by: identifier, CallSite(fileID: fileID, line: line))
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
