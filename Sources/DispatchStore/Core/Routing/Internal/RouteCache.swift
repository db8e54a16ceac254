/// A thread's copies of routes, so that a dispatch writes no memory that other threads write.
///
/// Only its own thread looks up and inserts routes. Inserting happens under the registry's lock, and the registry
/// notes the cache with the route. So a thread that removes a route from the registry finds all copies, and evicts
/// them under the same lock. A cached route is therefore current, and no cache keeps a store alive after it was
/// unregistered.
///
/// The table grows, in buckets of four slots. A route that does not fit into the largest table is looked up in the
/// registry each time. Code that a lookup calls is always inlined, which saves 5 % of the instructions of
/// `sync-reduction`.
struct RouteCache: @unchecked Sendable {  // because `mutex` guards the table
  /// The identity of a cache, even after its thread has ended.
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

  /// A copy that has left its slot, or a route that has left the registry.
  struct Evicted {
    fileprivate let route: Unmanaged<Route>
    fileprivate let outstanding: Int

    /// Retires the route, outside of locks: this may run deinitializers of the program.
    func retire() { route._withUnsafeGuaranteedRef { $0.retire(after: outstanding) } }
  }

  /// Slots in buckets.
  private struct Table {
    private let slots: UnsafeMutablePointer<Slot>
    let bucketCount: Int

    init(bucketCount: Int) {
      self.bucketCount = bucketCount
      slots = .allocate(capacity: bucketCount * RouteCache.ways)
      slots.initialize(repeating: Slot(), count: bucketCount * RouteCache.ways)
    }

    var indices: Range<Int> { 0..<(bucketCount * RouteCache.ways) }

    subscript(index: Int) -> Slot {
      get { slots[index] }
      nonmutating set { slots[index] = newValue }
    }

    @inline(__always)
    func bucket(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (bucketCount - 1) }

    /// The indices of a hash's bucket.
    @inline(__always)
    private func indices(for hash: UInt64) -> Range<Int> {
      let first = bucket(of: hash) * RouteCache.ways
      return first..<(first + RouteCache.ways)
    }

    /// Returns the index of a key's slot.
    @inline(__always)
    func index(of key: RouteKey) -> Int? {
      for index in indices(for: key.hash) where slots[index].isOf(key) { return index }
      return nil
    }

    /// Returns the route at an index, outstanding for one more dispatch.
    @inline(__always)
    func take(at index: Int) -> Unmanaged<Route>? {
      slots[index].outstanding &+= 1
      return slots[index].route
    }

    /// Returns the index of a free slot in the bucket of a hash.
    func freeIndex(for hash: UInt64) -> Int? {
      indices(for: hash).first { slots[$0].route == nil }
    }

    /// Frees a slot.
    func evict(at index: Int) -> Evicted? { slots[index].take() }

    func deallocate() {
      slots.deinitialize(count: bucketCount * RouteCache.ways)
      slots.deallocate()
    }
  }

  /// The number of slots in a bucket.
  fileprivate static let ways = 4
  /// The largest table, of 4,096 slots: about 2 MB with their routes, in a thread that dispatches to so many stores.
  private static let mostBuckets = 1_024
  private let table: UnsafeMutablePointer<Table>
  /// A lock that is held for a few instructions, in which no code outside this type runs.
  private let mutex = Lock()

  var id: ID { ID(table) }

  init() {
    table = .allocate(capacity: 1)
    table.initialize(to: Table(bucketCount: 8))
    let cache = self
    Self.all.withLockOfProcess { $0[cache.id] = cache }
  }

  /// Destroys the cache when its thread ends.
  func destroy() {
    _ = Self.all.withLockOfProcess { $0.removeValue(forKey: id) }
    for index in table.pointee.indices { table.pointee.evict(at: index)?.retire() }
    table.pointee.deallocate()
    table.deinitialize(count: 1)
    table.deallocate()
    mutex.destroy()
  }

  /// Returns the route for a key, outstanding for one more dispatch, or nil.
  @inline(__always)
  func take(_ key: RouteKey) -> Unmanaged<Route>? {
    mutex.lockOfProcess()
    defer { mutex.unlock() }
    return table.pointee.index(of: key).flatMap { table.pointee.take(at: $0) }
  }

  /// Takes a copy of a route, outstanding for one more dispatch; called under the registry's lock.
  ///
  /// The copy has the registry's own key, by which it is evicted. A lookup by an identifier that is equal, but not
  /// byte-identical, comes here each time. If a copy would replace another, the route itself is mostly used instead.
  /// So if there are more routes than slots, only routes that are used often get a copy.
  ///
  /// - Parameter turn: A counter; in one of eight consecutive turns, a copy is made in any case.
  /// - Returns: The copy or the route, and a copy that had to leave, to be retired outside of the registry's lock.
  func take(_ shared: SharedRoute, turn: UInt32) -> (Unmanaged<Route>, Evicted?) {
    let key = shared.key
    if let present = take(key) { return (present, nil) }
    if turn & 7 != 0, isFull(for: key.hash) { return (shared.use(), nil) }
    shared.note(id)
    let copy = Unmanaged.passUnretained(Route(copying: shared.route))
    mutex.lockOfProcess()
    defer { mutex.unlock() }
    let index = makeRoom(for: key.hash)
    let evicted = table.pointee.evict(at: index)
    table.pointee[index] = Slot(
      dispatcher: key.dispatcher, actionType: key.actionType, storeIdentifier: key.storeIdentifier,
      route: copy, outstanding: 1)
    return (copy, evicted)
  }

  private func isFull(for hash: UInt64) -> Bool {
    mutex.lockOfProcess()
    defer { mutex.unlock() }
    return table.pointee.bucketCount == Self.mostBuckets
      && table.pointee.freeIndex(for: hash) == nil
  }

  /// Returns a free slot, or, in the largest table, one whose copy is to leave.
  private func makeRoom(for hash: UInt64) -> Int {
    while true {
      if let free = table.pointee.freeIndex(for: hash) { return free }
      guard table.pointee.bucketCount < Self.mostBuckets else { break }
      grow()
    }
    let way = Int(truncatingIfNeeded: hash >> 40) % Self.ways
    return table.pointee.bucket(of: hash) * Self.ways + way
  }

  private func grow() {
    let old = table.pointee
    let new = Table(bucketCount: 2 * old.bucketCount)
    for index in old.indices where old[index].route != nil {
      let slot = old[index]
      let key = RouteKey(
        dispatcher: slot.dispatcher, actionType: slot.actionType!,
        storeIdentifier: slot.storeIdentifier)
      // Each bucket becomes two, so each has room.
      new[new.freeIndex(for: key.hash)!] = slot
    }
    table.pointee = new
    old.deallocate()
  }

  private func takeSlot(of key: RouteKey) -> Evicted? {
    mutex.lockOfProcess()
    defer { mutex.unlock() }
    return table.pointee.index(of: key).flatMap { table.pointee.evict(at: $0) }
  }

  // MARK: All threads

  private static let all = Locked<[ID: RouteCache]>([:])

  /// Returns the caches whose threads have not ended.
  static func present(among caches: [ID]) -> [ID] {
    all.withLockOfProcess { all in caches.filter { all[$0] != nil } }
  }

  /// Evicts the copies of routes that have left the registry; called under its lock.
  ///
  /// - Returns: The routes with their copies, to be retired.
  static func evict(_ routes: [SharedRoute]) -> [Evicted] {
    var evicted = routes.map {
      Evicted(route: .passUnretained($0.route), outstanding: $0.outstanding)
    }
    if routes.isEmpty || isPlanted(.staleRoute) { return evicted }
    all.withLockOfProcess { all in
      for route in routes {
        for id in route.caches {
          // Not `all[id]?.takeSlot`: in debug builds, Swift 6.3.1 calls that although there is no such cache.
          guard let cache = all[id] else { continue }
          if let copy = cache.takeSlot(of: route.key) { evicted.append(copy) }
        }
      }
    }
    return evicted
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

  /// Hashes the bytes of an identifier; equal strings may have different bytes.
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
