/// An object that stands for a key of the program.
protocol KeyedMember: AnyObject, Sendable {
  var key: TypedKey { get }
}

/// The objects of the keys in use, one for each.
///
/// Under the lock, keys are distinguished by their hashes, as in the table of lanes; they are compared outside.
final class KeyedTable<Member: KeyedMember>: Sendable {
  private struct Shard {
    /// Objects by the hashes of their keys.
    var members: [Int: [Member]] = [:]
    var count = 0
  }

  /// The number of shards; a power of two.
  private static var shardCount: Int { 16 }
  private let shards = (0..<shardCount).map { _ in Locked(Shard()) }

  var count: Int { shards.reduce(0) { $0 + $1.withLock(\.count) } }

  private func shard(of key: TypedKey) -> Locked<Shard> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  /// The object of a key, if there is one.
  func present(_ key: TypedKey) -> Member? {
    shard(of: key).withLock { $0.members[key.hash] ?? [] }.first { $0.key == key }
  }

  /// The object of a key, which is made if there is none.
  func member(of key: TypedKey, orAdd make: () -> Member) -> Member {
    while true {
      let found = shard(of: key).withLock { $0.members[key.hash] ?? [] }
      if let present = found.first(where: { $0.key == key }) { return present }
      let made = make()
      let isInserted = shard(of: key).withLock { shard in
        // Another thread may have come first with the same key.
        let present = shard.members[key.hash] ?? []
        guard present.allSatisfy({ new in found.contains { $0 === new } }) else { return false }
        shard.members[key.hash] = present + [made]
        shard.count += 1
        return true
      }
      if isInserted { return made }
    }
  }

  /// Removes an object that is no longer used; does nothing if it was removed before.
  func remove(_ member: Member) {
    shard(of: member.key).withLock { shard in
      let present = shard.members[member.key.hash] ?? []
      let others = present.filter { $0 !== member }
      shard.members[member.key.hash] = others.isEmpty ? nil : others
      shard.count -= present.count - others.count
    }
  }
}
