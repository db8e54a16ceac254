/// An object that stands for a key of the program.
protocol KeyedMember: AnyObject, Sendable {
  var key: TypedKey { get }
}

/// The objects of the keys in use, one for each.
///
/// Under the lock, keys are distinguished by their hashes, as in the table of lanes; they are compared outside.
final class KeyedTable<Member: KeyedMember>: Sendable {
  /// The number of shards; a power of two.
  private static var shardCount: Int { 16 }
  private let shards = (0..<shardCount).map { _ in Locked([Int: [Member]]()) }

  var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.values.reduce(0) { $0 + $1.count } } } }

  private func shard(of key: TypedKey) -> Locked<[Int: [Member]]> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  /// The object of a key, if there is one.
  func present(_ key: TypedKey) -> Member? {
    shard(of: key).withLock { $0[key.hash] ?? [] }.first { $0.key == key }
  }

  /// The object of a key, which is made if there is none.
  func member(of key: TypedKey, orAdd make: () -> Member) -> Member {
    while true {
      let found = shard(of: key).withLock { $0[key.hash] ?? [] }
      if let present = found.first(where: { $0.key == key }) { return present }
      let made = make()
      let isInserted = shard(of: key).withLock { shard in
        // Another thread may have come first with the same key.
        let present = shard[key.hash] ?? []
        guard present.allSatisfy({ new in found.contains { $0 === new } }) else { return false }
        shard[key.hash] = present + [made]
        return true
      }
      if isInserted { return made }
    }
  }

  /// Removes an object that is no longer used.
  func remove(_ member: Member) {
    shard(of: member.key).withLock { shard in
      shard[member.key.hash]?.removeAll { $0 === member }
      if shard[member.key.hash]?.isEmpty == true { shard[member.key.hash] = nil }
    }
  }
}
