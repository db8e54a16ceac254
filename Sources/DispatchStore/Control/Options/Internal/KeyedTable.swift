/// The objects of the keys in use, one for each, as long as somebody keeps them.
///
/// Under the lock, keys are distinguished by their hashes, as in the table of lanes; they are compared outside.
final class KeyedTable<Member: AnyObject & Sendable>: Sendable {
  private final class Entry: Sendable {
    let key: TypedKey
    /// The object; nil if it was released.
    ///
    /// Don't read it under the lock: the last reference may be the one taken here, and its end removes the entry.
    weak let member: Member?

    init(_ key: TypedKey, _ member: Member) {
      (self.key, self.member) = (key, member)
    }
  }

  private struct Shard {
    /// Entries by the hashes of their keys.
    var entries: [Int: [Entry]] = [:]
    var count = 0
  }

  /// The number of shards; a power of two.
  private static var shardCount: Int { 16 }
  private let shards = (0..<shardCount).map { _ in Locked(Shard()) }

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
  ///
  /// - Parameter make: Makes an object that keeps the place, or is it.
  func member(of key: TypedKey, orAdd make: (KeyedPlace) -> Member) -> Member {
    while true {
      let found = entries(of: key)
      if let present = Self.member(of: key, among: found) { return present }
      let made = make(KeyedPlace(key) { [weak self] in self?.removeReleased(of: key) })
      let entry = Entry(key, made)
      let isInserted = shard(of: key).withLock { shard in
        // Another thread may have come first with the same key.
        let present = shard.entries[key.hash] ?? []
        let isNew = present.allSatisfy { other in found.contains { $0 === other } }
        guard isNew || isPlanted(.overlappingEffects) else { return false }
        shard.entries[key.hash] = present + [entry]
        shard.count += 1
        return true
      }
      if isInserted { return made }
    }
  }

  /// Removes the entries of a key whose objects were released.
  private func removeReleased(of key: TypedKey) {
    let gone = entries(of: key).filter { $0.member == nil }
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

/// The place of a key in a table, for as long as it lives.
final class KeyedPlace: Sendable {
  let key: TypedKey
  private let atEnd: @Sendable () -> Void

  fileprivate init(_ key: TypedKey, atEnd: @escaping @Sendable () -> Void) {
    (self.key, self.atEnd) = (key, atEnd)
  }

  deinit { atEnd() }
}

extension TypedKey {
  /// The key of what has none, which equals none of the program's.
  static let unnamed = TypedKey(Unnamed())

  private struct Unnamed: Hashable, Sendable {}
}
