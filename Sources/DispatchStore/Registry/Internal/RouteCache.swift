import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The routes that one thread uses, so that a dispatch writes no memory that other threads write.
///
/// Only its own thread looks routes up and inserts them. Any thread may evict those of a dispatcher, so
/// that no cache keeps a store alive after it was unregistered.
///
/// What a lookup calls is always inlined, which saves 5 % of the instructions of `sync-reduction`.
struct RouteCache: @unchecked Sendable {  // because `isLocked` guards the slots
  struct Key {
    let dispatcher: UInt64
    let actionType: ObjectIdentifier
    let storeIdentifier: String?

    @inline(__always)
    fileprivate var slot: Int {
      var bits = dispatcher &+ UInt64(UInt(bitPattern: actionType) >> 4)
      if let storeIdentifier {
        // The string's words. A string with its text on the heap hashes by its address: an equal one at
        // another address misses the cache, and is looked up in the registry.
        withUnsafeBytes(of: storeIdentifier) { bytes in
          // Two words of 64 bits, or three of 32.
          for offset in stride(from: 0, to: bytes.count, by: MemoryLayout<UInt>.size) {
            let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt.self)
            bits = (bits ^ UInt64(word)) &* 0x9E37_79B9_7F4A_7C15
          }
        }
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
    /// The number of dispatches that have used the route.
    var outstanding = 0

    mutating func take() -> Evicted? {
      defer { self = Slot() }
      return route.map { Evicted(route: $0, outstanding: outstanding) }
    }
  }

  /// A route that has left its slot.
  private struct Evicted {
    let route: Unmanaged<Route>
    let outstanding: Int

    func retire() { route._withUnsafeGuaranteedRef { $0.retire(after: outstanding) } }
  }

  fileprivate static let count = 32
  private let slots: UnsafeMutablePointer<Slot>
  /// A spin lock, for a few instructions; no code outside this type runs while it is locked.
  private let isLocked: UnsafeMutablePointer<Atomic<Bool>>

  init() {
    slots = .allocate(capacity: Self.count)
    slots.initialize(repeating: Slot(), count: Self.count)
    isLocked = .allocate(capacity: 1)
    isLocked.initialize(to: Atomic(false))
    let cache = self
    Self.all.withLockOfProcess { $0[cache.slots] = cache }
  }

  /// Called when its thread ends.
  func destroy() {
    _ = Self.all.withLockOfProcess { $0.removeValue(forKey: slots) }
    for index in 0..<Self.count { slots[index].take()?.retire() }
    slots.deinitialize(count: Self.count)
    slots.deallocate()
    isLocked.deinitialize(count: 1)
    isLocked.deallocate()
  }

  @inline(__always)
  private func lock() {
    while !isLocked.pointee.compareExchange(
      expected: false, desired: true, ordering: .acquiring
    ).exchanged {
      sched_yield()
    }
  }

  @inline(__always)
  private func unlock() {
    isLocked.pointee.store(false, ordering: .releasing)
  }

  /// The route for a registry version, outstanding for one more dispatch; nil where there is none.
  @inline(__always)
  func take(
    _ key: Key, version: UInt64, on thread: ThreadState
  ) -> Unmanaged<Route>? {
    let slot = slot(for: key, on: thread)
    lock()
    defer { unlock() }
    guard isCurrent(key, version, in: slot) else { return nil }
    slot.pointee.outstanding &+= 1
    return slot.pointee.route
  }

  /// The slot of a key.
  @inline(__always)
  private func slot(for key: Key, on thread: ThreadState) -> UnsafeMutablePointer<Slot> {
    #if SIMULATION
      if thread.simulated != nil { return simulatedSlot(for: key) }
    #endif
    return slots + key.slot
  }

  #if SIMULATION
    /// The first slot with the key, or a free one: by the hash, addresses would decide which keys share
    /// a slot, and a seed would not repeat its run.
    @inline(never)
    private func simulatedSlot(for key: Key) -> UnsafeMutablePointer<Slot> {
      lock()
      defer { unlock() }
      let index =
        (0..<Self.count).first { isOf(key, slots + $0) }
        ?? (0..<Self.count).first { slots[$0].route == nil }
      return slots + (index ?? 0)
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
  private func isCurrent(
    _ key: Key, _ version: UInt64, in slot: UnsafeMutablePointer<Slot>
  ) -> Bool {
    (slot.pointee.version == version || isPlanted(.staleRoute)) && isOf(key, slot)
  }

  /// Inserts a route, outstanding for one dispatch.
  func put(
    _ route: Route, for key: Key, version: UInt64, on thread: ThreadState
  ) -> Unmanaged<Route> {
    let slot = slot(for: key, on: thread)
    let cached = Unmanaged.passUnretained(route)
    lock()
    let evicted = slot.pointee.take()
    slot.pointee = Slot(
      dispatcher: key.dispatcher, version: version, actionType: key.actionType,
      storeIdentifier: key.storeIdentifier, route: cached, outstanding: 1)
    unlock()
    evicted?.retire()
    return cached
  }

  /// Evicts the route of a key, where it is of this version.
  func evict(_ key: Key, version: UInt64, on thread: ThreadState) {
    let slot = slot(for: key, on: thread)
    lock()
    let evicted = isCurrent(key, version, in: slot) ? slot.pointee.take() : nil
    unlock()
    evicted?.retire()
  }

  private func takeSlots(of dispatcher: UInt64) -> [Evicted] {
    var taken: [Evicted] = []
    lock()
    for index in 0..<Self.count where slots[index].dispatcher == dispatcher {
      if let evicted = slots[index].take() { taken.append(evicted) }
    }
    unlock()
    return taken
  }

  // MARK: All threads

  private static let all = Locked<[UnsafeMutablePointer<Slot>: RouteCache]>([:])

  /// Evicts a dispatcher's routes, and so its stores and middlewares, from the caches of all threads.
  static func evictAll(of dispatcher: UInt64) {
    // Outside the locks, as releasing a route may run deinitializers of the program.
    let evicted = all.withLockOfProcess { caches in
      caches.values.flatMap { $0.takeSlots(of: dispatcher) }
    }
    for evicted in evicted { evicted.retire() }
  }
}
