import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A thread's copies of routes, so that a dispatch writes no memory that other threads write.
///
/// Only its own thread looks routes up and inserts them, the latter under the lock of the registry, which notes
/// the cache with the route: a thread that has removed a route from the registry evicts the copies afterwards, and
/// finds them all. So a route in the cache is a current one, and no cache keeps a store alive after it was
/// unregistered.
///
/// Buckets of four slots in a table that grows; what does not fit into the largest is looked up in the registry again.
/// What a lookup calls is always inlined, which saves 5 % of the instructions of `sync-reduction`.
struct RouteCache: @unchecked Sendable {  // because `isLocked` guards the table
  /// Its identity, also once its thread has ended.
  typealias ID = UnsafeMutableRawPointer

  private struct Slot {
    var dispatcher: UInt64 = 0
    var actionType: ObjectIdentifier?
    var storeIdentifier: String?
    var route: Unmanaged<Route>?
    /// The number of dispatches that have used the route.
    var outstanding = 0

    mutating func take() -> Evicted? {
      defer { self = Slot() }
      return route.map { Evicted(route: $0, outstanding: outstanding) }
    }

    @inline(__always)
    func isOf(_ key: RouteKey) -> Bool {
      actionType == key.actionType && dispatcher == key.dispatcher
        && (key.storeIdentifier == nil
          ? storeIdentifier == nil : storeIdentifier == key.storeIdentifier)
    }
  }

  /// A copy that has left its slot.
  struct Evicted {
    fileprivate let route: Unmanaged<Route>
    fileprivate let outstanding: Int

    /// Outside of locks: this may run deinitializers of the program.
    func retire() { route._withUnsafeGuaranteedRef { $0.retire(after: outstanding) } }
  }

  private struct Table {
    var slots: UnsafeMutablePointer<Slot>
    var bucketCount: Int

    init(bucketCount: Int) {
      self.bucketCount = bucketCount
      slots = .allocate(capacity: bucketCount * RouteCache.ways)
      slots.initialize(repeating: Slot(), count: bucketCount * RouteCache.ways)
    }

    var all: UnsafeMutableBufferPointer<Slot> {
      UnsafeMutableBufferPointer(start: slots, count: bucketCount * RouteCache.ways)
    }

    @inline(__always)
    func bucket(of hash: UInt64) -> UnsafeMutablePointer<Slot> {
      slots + (Int(truncatingIfNeeded: hash) & (bucketCount - 1)) * RouteCache.ways
    }

    @inline(__always)
    func slot(of key: RouteKey) -> UnsafeMutablePointer<Slot>? {
      var slot = bucket(of: key.hash)
      for _ in 0..<RouteCache.ways {
        if slot.pointee.isOf(key) { return slot }
        slot += 1
      }
      return nil
    }

    /// A free slot of a key's bucket.
    func freeSlot(for hash: UInt64) -> UnsafeMutablePointer<Slot>? {
      let bucket = bucket(of: hash)
      return (0..<RouteCache.ways).first { bucket[$0].route == nil }.map { bucket + $0 }
    }

    func deallocate() {
      slots.deinitialize(count: bucketCount * RouteCache.ways)
      slots.deallocate()
    }
  }

  fileprivate static let ways = 4
  /// Of 4,096 slots.
  private static let mostBuckets = 1_024
  private let table: UnsafeMutablePointer<Table>
  /// A spin lock, for a few instructions; no code outside this type runs while it is locked.
  private let isLocked: UnsafeMutablePointer<Atomic<Bool>>

  var id: ID { ID(table) }

  init() {
    table = .allocate(capacity: 1)
    table.initialize(to: Table(bucketCount: 8))
    isLocked = .allocate(capacity: 1)
    isLocked.initialize(to: Atomic(false))
    let cache = self
    Self.all.withLockOfProcess { $0[cache.id] = cache }
  }

  /// Called when its thread ends.
  func destroy() {
    _ = Self.all.withLockOfProcess { $0.removeValue(forKey: id) }
    for index in table.pointee.all.indices { table.pointee.all[index].take()?.retire() }
    table.pointee.deallocate()
    table.deinitialize(count: 1)
    table.deallocate()
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

  /// The route for a key, outstanding for one more dispatch; nil where there is none.
  @inline(__always)
  func take(_ key: RouteKey) -> Unmanaged<Route>? {
    lock()
    defer { unlock() }
    guard let slot = table.pointee.slot(of: key) else { return nil }
    slot.pointee.outstanding &+= 1
    return slot.pointee.route
  }

  /// Takes a copy of a route, outstanding for one more dispatch; called under the registry's lock.
  ///
  /// It has the key that the registry has, by which it is evicted: a lookup by an equal identifier of other bytes
  /// comes here each time. Where a copy would take the place of another, mostly the route itself is used: of more
  /// routes than there are places for, only those that are used often get one.
  ///
  /// - Parameter turn: Of each eight in a row, one has a copy made in any case.
  /// - Returns: The copy, and one that had to leave, to be retired outside of that lock.
  func take(_ shared: SharedRoute, turn: UInt32) -> (Unmanaged<Route>, Evicted?) {
    let key = shared.key
    if let present = take(key) { return (present, nil) }
    if turn & 7 != 0, isFull(for: key.hash) { return (shared.use(), nil) }
    shared.note(id)
    let copy = Unmanaged.passUnretained(Route(copying: shared.route))
    lock()
    defer { unlock() }
    let slot = makeRoom(for: key.hash)
    let evicted = slot.pointee.take()
    slot.pointee = Slot(
      dispatcher: key.dispatcher, actionType: key.actionType, storeIdentifier: key.storeIdentifier,
      route: copy, outstanding: 1)
    return (copy, evicted)
  }

  private func isFull(for hash: UInt64) -> Bool {
    lock()
    defer { unlock() }
    return table.pointee.bucketCount == Self.mostBuckets && table.pointee.freeSlot(for: hash) == nil
  }

  /// A free slot, or in the largest table one whose copy is to leave.
  private func makeRoom(for hash: UInt64) -> UnsafeMutablePointer<Slot> {
    while true {
      if let free = table.pointee.freeSlot(for: hash) { return free }
      guard table.pointee.bucketCount < Self.mostBuckets else { break }
      grow()
    }
    return table.pointee.bucket(of: hash) + Int(truncatingIfNeeded: hash >> 40) % Self.ways
  }

  private func grow() {
    let old = table.pointee
    table.pointee = Table(bucketCount: 2 * old.bucketCount)
    for index in old.all.indices where old.all[index].route != nil {
      let slot = old.all[index]
      let key = RouteKey(
        dispatcher: slot.dispatcher, actionType: slot.actionType!,
        storeIdentifier: slot.storeIdentifier)
      // Of one bucket two are made: each has room.
      table.pointee.freeSlot(for: key.hash)!.pointee = slot
    }
    old.deallocate()
  }

  private func takeSlot(of key: RouteKey) -> Evicted? {
    lock()
    defer { unlock() }
    return table.pointee.slot(of: key)?.pointee.take()
  }

  // MARK: All threads

  private static let all = Locked<[ID: RouteCache]>([:])

  /// Those of the caches whose threads have not ended.
  static func present(among caches: [ID]) -> [ID] {
    all.withLockOfProcess { all in caches.filter { all[$0] != nil } }
  }

  /// Evicts the copies of routes that have left the registry, and retires those routes.
  static func evict(_ routes: [SharedRoute]) {
    guard !routes.isEmpty else { return }
    var evicted: [Evicted] = []
    if !isPlanted(.staleRoute) {
      all.withLockOfProcess { all in
        for route in routes {
          for id in route.caches {
            guard let cache = all[id] else { continue }
            if let left = cache.takeSlot(of: route.key) { evicted.append(left) }
          }
        }
      }
    }
    for evicted in evicted { evicted.retire() }
    for route in routes { route.route.retire(after: route.outstanding) }
  }
}

extension RouteKey {
  @inline(__always)
  fileprivate var hash: UInt64 {
    var bits = dispatcher &+ UInt64(UInt(bitPattern: actionType) >> 4)
    if let storeIdentifier {
      bits = Self.mix(bits, storeIdentifier)
    }
    return bits
  }

  /// Hashes the bytes: equal strings may have others.
  private static func mix(_ seed: UInt64, _ identifier: String) -> UInt64 {
    let prime: UInt64 = 0x9E37_79B9_7F4A_7C15
    let bits = identifier.utf8.withContiguousStorageIfAvailable { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      var (bits, offset) = (seed ^ UInt64(truncatingIfNeeded: bytes.count), 0)
      while offset + 8 <= bytes.count {
        bits = (bits ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* prime
        bits ^= bits >> 29
        offset += 8
      }
      while offset < bytes.count {
        bits = (bits ^ UInt64(bytes[offset])) &* prime
        offset += 1
      }
      return bits ^ bits >> 32
    }
    return bits ?? seed ^ UInt64(bitPattern: Int64(identifier.hashValue))
  }
}
