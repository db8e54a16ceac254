import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What one thread knows of the registries of dispatchers, so that dispatching shares no memory.
///
/// Its thread looks things up and notes what it found. Any thread may make it forget a dispatcher: a
/// store that is unregistered is not kept by threads that once dispatched to it.
struct RouteCache: @unchecked Sendable {  // because `isHeld` guards the slots
  struct Key {
    let dispatcher: UInt64
    let actionType: ObjectIdentifier
    let storeIdentifier: String?

    @inline(__always)
    fileprivate var place: Int {
      var bits = dispatcher &+ UInt64(UInt(bitPattern: actionType) >> 4)
      if let storeIdentifier {
        // The string's own words: where its text is elsewhere, that is found all the same.
        let words = unsafeBitCast(storeIdentifier, to: (UInt64, UInt64).self)
        bits = (bits ^ words.0 ^ (words.1 &* 31)) &* 0x9E37_79B9_7F4A_7C15
        bits ^= bits >> 32
      }
      return Int(truncatingIfNeeded: bits) & (RouteCache.count - 1)
    }
  }

  private struct Slot {
    var dispatcher: UInt64 = 0
    var version: UInt64 = 0
    var actionType: ObjectIdentifier?
    var storeIdentifier: String?
    var route: Unmanaged<Route>?
    /// The dispatches that they were given out to.
    var outstanding = 0

    mutating func take() -> Evicted? {
      defer { self = Slot() }
      return route.map { Evicted(route: $0, outstanding: outstanding) }
    }
  }

  /// Route that a thread has forgotten.
  private struct Evicted {
    let route: Unmanaged<Route>
    let outstanding: Int

    func retire() { route._withUnsafeGuaranteedRef { $0.retire(after: outstanding) } }
  }

  fileprivate static let count = 32
  private let slots: UnsafeMutablePointer<Slot>
  /// Held for some instructions, and never while other code runs.
  private let isHeld: UnsafeMutablePointer<Atomic<Bool>>

  init() {
    slots = .allocate(capacity: Self.count)
    slots.initialize(repeating: Slot(), count: Self.count)
    isHeld = .allocate(capacity: 1)
    isHeld.initialize(to: Atomic(false))
    let cache = self
    Self.all.withLockOfProcess { $0[cache.slots] = cache }
  }

  /// Its thread ends.
  func destroy() {
    _ = Self.all.withLockOfProcess { $0.removeValue(forKey: slots) }
    for place in 0..<Self.count { slots[place].take()?.retire() }
    slots.deinitialize(count: Self.count)
    slots.deallocate()
    isHeld.deinitialize(count: 1)
    isHeld.deallocate()
  }

  @inline(__always)
  private func hold() {
    while !isHeld.pointee.compareExchange(
      expected: false, desired: true, ordering: .acquiring
    ).exchanged {
      sched_yield()
    }
  }

  @inline(__always)
  private func letGo() {
    isHeld.pointee.store(false, ordering: .releasing)
  }

  /// The route as of a version of the registry, given out to one dispatch; nil where not known.
  @inline(__always)
  func take(
    _ key: Key, version: UInt64, on thread: ThreadState
  ) -> Unmanaged<Route>? {
    let slot = slot(for: key, on: thread)
    hold()
    defer { letGo() }
    guard isNoted(key, version, in: slot) else { return nil }
    slot.pointee.outstanding &+= 1
    return slot.pointee.route
  }

  /// Where a key is noted, or may be.
  @inline(__always)
  private func slot(for key: Key, on thread: ThreadState) -> UnsafeMutablePointer<Slot> {
    #if SIMULATION
      if thread.simulated != nil { return simulatedSlot(for: key) }
    #endif
    return slots + key.place
  }

  #if SIMULATION
    /// In the order in which keys come: whether two of them meet in a slot hangs on addresses otherwise,
    /// and so would what a thread has noted.
    @inline(never)
    private func simulatedSlot(for key: Key) -> UnsafeMutablePointer<Slot> {
      hold()
      defer { letGo() }
      let place =
        (0..<Self.count).first { isOf(key, slots + $0) }
        ?? (0..<Self.count).first { slots[$0].route == nil }
      return slots + (place ?? 0)
    }
  #endif

  @inline(__always)
  private func isOf(_ key: Key, _ slot: UnsafeMutablePointer<Slot>) -> Bool {
    slot.pointee.actionType == key.actionType && slot.pointee.dispatcher == key.dispatcher
      && (key.storeIdentifier == nil
        ? slot.pointee.storeIdentifier == nil
        : slot.pointee.storeIdentifier == key.storeIdentifier)
  }

  @inline(__always)
  private func isNoted(
    _ key: Key, _ version: UInt64, in slot: UnsafeMutablePointer<Slot>
  ) -> Bool {
    (slot.pointee.version == version || isPlanted(.staleRoute)) && isOf(key, slot)
  }

  /// Notes route, and gives them out to one dispatch.
  func put(
    _ route: Route, for key: Key, version: UInt64, on thread: ThreadState
  ) -> Unmanaged<Route> {
    let slot = slot(for: key, on: thread)
    let noted = Unmanaged.passUnretained(route)
    hold()
    let evicted = slot.pointee.take()
    slot.pointee = Slot(
      dispatcher: key.dispatcher, version: version, actionType: key.actionType,
      storeIdentifier: key.storeIdentifier, route: noted, outstanding: 1)
    letGo()
    evicted?.retire()
    return noted
  }

  /// Forgets what was noted for a key as of a version.
  func drop(_ key: Key, version: UInt64, on thread: ThreadState) {
    let slot = slot(for: key, on: thread)
    hold()
    let evicted = isNoted(key, version, in: slot) ? slot.pointee.take() : nil
    letGo()
    evicted?.retire()
  }

  private func takeSlots(of dispatcher: UInt64) -> [Evicted] {
    var taken: [Evicted] = []
    hold()
    for place in 0..<Self.count where slots[place].dispatcher == dispatcher {
      if let evicted = slots[place].take() { taken.append(evicted) }
    }
    letGo()
    return taken
  }

  // MARK: All threads

  private static let all = Locked<[UnsafeMutablePointer<Slot>: RouteCache]>([:])

  /// Makes all threads forget a dispatcher's stores and middlewares.
  static func forget(_ dispatcher: UInt64) {
    // What goes with them may run code of the user's: outside the locks.
    let evicted = all.withLockOfProcess { caches in
      caches.values.flatMap { $0.takeSlots(of: dispatcher) }
    }
    for evicted in evicted { evicted.retire() }
  }
}
