/// The objects of the keys in use, one for each.
///
/// Under the lock, keys are distinguished by their hashes, as in the table of lanes; they are compared outside.
final class KeyedTable<Member: AnyObject & Sendable>: Sendable {
  private final class Entry: Sendable {
    let key: TypedKey
    private let kept: Member?
    private weak let other: Member?

    init(_ key: TypedKey, _ member: Member, isKept: Bool) {
      self.key = key
      kept = isKept ? member : nil
      other = isKept ? nil : member
    }

    /// The object; nil if it was released.
    ///
    /// Don't read it under the lock: the last reference may be the one taken here, and its end removes the entry.
    var member: Member? { kept ?? other }
  }

  private struct Shard {
    /// Entries by the hashes of their keys.
    var entries: [Int: [Entry]] = [:]
    var count = 0
  }

  private let keepsMembers: Bool
  /// The number of shards; a power of two.
  private static var shardCount: Int { 16 }
  private let shards = (0..<shardCount).map { _ in Locked(Shard()) }

  /// - Parameter keepsMembers: Whether the table keeps its objects; if not, each removes its entry when it is released.
  init(keepsMembers: Bool = true) {
    self.keepsMembers = keepsMembers
  }

  var count: Int { shards.reduce(0) { $0 + $1.withLock(\.count) } }

  /// The number of keys for which there is memory.
  var capacity: Int { shards.reduce(0) { $0 + $1.withLock(\.entries.capacity) } }

  /// The objects of all keys, in no order.
  var all: [Member] {
    let entries = shards.flatMap { shard in shard.withLock { $0.entries.values.flatMap(\.self) } }
    return entries.compactMap(\.member)
  }

  private func shard(of key: TypedKey) -> Locked<Shard> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  private func entries(of key: TypedKey) -> [Entry] {
    shard(of: key).withLock { $0.entries[key.hash] ?? [] }
  }

  private static func member(of key: TypedKey, among entries: [Entry]) -> Member? {
    for entry in entries where entry.key == key {
      // Read once: another thread may release the object at any time.
      if let member = entry.member { return member }
    }
    return nil
  }

  /// The object of a key, if there is one.
  func present(_ key: TypedKey) -> Member? { Self.member(of: key, among: entries(of: key)) }

  /// The object of a key, which is made if there is none.
  func member(of key: TypedKey, orAdd make: () -> Member) -> Member {
    while true {
      let found = entries(of: key)
      if let present = Self.member(of: key, among: found) { return present }
      let made = make()
      let entry = Entry(key, made, isKept: keepsMembers)
      let isInserted = shard(of: key).withLock { shard in
        // Another thread may have come first with the same key.
        let present = shard.entries[key.hash] ?? []
        guard present.allSatisfy({ new in found.contains { $0 === new } }) else { return false }
        shard.entries[key.hash] = present + [entry]
        shard.count += 1
        return true
      }
      if isInserted { return made }
    }
  }

  /// Calls a closure with the object of a key; if it returns nil, since the object is retired, calls it with a new one.
  func withMember<Result>(
    of key: TypedKey, orAdd make: () -> Member, _ body: (Member) -> Result?
  ) -> Result {
    while true {
      let member = member(of: key, orAdd: make)
      if let result = body(member) { return result }
      // Another thread has retired the object, and is about to remove it.
      remove(member, of: key)
    }
  }

  /// Removes an object that is no longer used, or, if it is nil, the entries whose objects were released.
  ///
  /// Does nothing if that was done before.
  func remove(_ member: Member?, of key: TypedKey) {
    let gone = entries(of: key).filter { $0.member === member }
    shard(of: key).withLock { shard in
      let present = shard.entries[key.hash] ?? []
      let others = present.filter { entry in !gone.contains { $0 === entry } }
      if others.isEmpty {
        shard.entries.removeAndShrink(key.hash)
      } else {
        shard.entries[key.hash] = others
      }
      shard.count -= present.count - others.count
    }
    // Releases the program's keys outside of the lock.
    withExtendedLifetime(gone) {}
  }
}
