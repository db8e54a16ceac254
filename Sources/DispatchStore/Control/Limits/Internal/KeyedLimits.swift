/// The limits of keys with dispatches in flight, one for each key; other limits are released.
///
/// Under the lock, keys are distinguished by their hashes, as in the table of lanes; they are compared outside.
final class KeyedLimits: Sendable {
  private let bound: Int
  private let overflow: DispatchLimit.Overflow
  /// The number of shards; a power of two.
  private static let shardCount = 16
  private let shards = (0..<shardCount).map { _ in Locked([Int: [Entry]]()) }

  private struct Entry {
    let key: TypedKey
    /// The limit's own number.
    ///
    /// Unique, unlike an address, which a later limit may have.
    let number: UInt64
    weak var limit: DispatchLimit?
  }

  init(_ bound: Int, _ overflow: DispatchLimit.Overflow) {
    (self.bound, self.overflow) = (bound, overflow)
  }

  var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.values.reduce(0) { $0 + $1.count } } } }

  private func shard(of key: TypedKey) -> Locked<[Int: [Entry]]> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  /// The limit of a key, if it has one.
  func present(_ key: TypedKey) -> DispatchLimit? {
    Self.limit(of: key, among: shard(of: key).withLock { $0[key.hash] ?? [] })
  }

  /// Finds a key's limit, outside of the lock: the last reference to a limit may be the one taken here.
  private static func limit(of key: TypedKey, among entries: [Entry]) -> DispatchLimit? {
    for entry in entries where entry.key == key {
      // Read once: another thread may release the limit at any time.
      if let limit = entry.limit { return limit }
    }
    return nil
  }

  /// The limit of a key, kept by the dispatches that have its units and by those that wait for them.
  func limit(_ key: TypedKey) -> DispatchLimit {
    while true {
      let entries = shard(of: key).withLock { $0[key.hash] ?? [] }
      if let present = Self.limit(of: key, among: entries) { return present }
      let made = DispatchLimit(
        bound, overflow: overflow, name: "the limit of lane \"\(key.description)\"",
        atEnd: { [weak self] in self?.remove($0, of: key) })
      let isInserted = shard(of: key).withLock { shard in
        // Another thread may have come first with the same key.
        let present = shard[key.hash] ?? []
        guard present.allSatisfy({ new in entries.contains { $0.number == new.number } }) else {
          return false
        }
        shard[key.hash] = present + [Entry(key: key, number: made.number, limit: made)]
        return true
      }
      if isInserted { return made }
    }
  }

  /// Removes a limit that is being released: by its number, since a newer one may have the same key by now.
  private func remove(_ number: UInt64, of key: TypedKey) {
    shard(of: key).withLock { shard in
      let others = (shard[key.hash] ?? []).filter { $0.number != number }
      shard[key.hash] = others.isEmpty ? nil : others
    }
  }
}
