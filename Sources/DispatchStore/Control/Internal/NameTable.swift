/// Dispatches in flight, by keys of the program's.
///
/// A dispatch is in the table from before its stores can begin until they have ended: that removes it, so that there is
/// nothing to clean up. Under the lock keys are distinguished by their hashes only; the program's code compares them
/// outside.
final class NameTable: Sendable {
  /// A power of two.
  private static let shardCount = 16
  private let shards = (0..<shardCount).map { _ in Locked(Shard()) }

  private struct Shard {
    /// By hash, in the order in which they came.
    var entries: [Int: [Entry]] = [:]
    /// How often dispatches were added.
    var version: UInt64 = 0

    mutating func append(_ entry: Entry) {
      entries[entry.key.hash, default: []].append(entry)
      version += 1
    }
  }

  private struct Entry {
    let key: TypedKey
    let dispatch: Dispatch
  }

  private func shard(of key: TypedKey) -> Locked<Shard> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  private func entries(of key: TypedKey) -> (entries: [Entry], version: UInt64) {
    shard(of: key).withLock { ($0.entries[key.hash] ?? [], $0.version) }
  }

  /// The dispatches of a key that have not ended, in the order in which they came.
  func dispatches(_ key: TypedKey) -> [Dispatch] {
    entries(of: key).entries.filter { $0.key == key && !$0.dispatch.hasEnded }.map(\.dispatch)
  }

  /// Adds a dispatch, until its stores have ended.
  ///
  /// - Returns: Those of the same key that came before.
  @discardableResult
  func insert(_ dispatch: Dispatch, _ key: TypedKey) -> [Dispatch] {
    let before = shard(of: key).withLock { shard in
      defer { shard.append(Entry(key: key, dispatch: dispatch)) }
      return shard.entries[key.hash] ?? []
    }
    removeAtEnd(dispatch, key)
    return before.filter { $0.key == key }.map(\.dispatch)
  }

  /// Adds a dispatch, until its stores have ended, unless one of the key is there, which is returned then.
  func insertUnlessPresent(_ dispatch: Dispatch, _ key: TypedKey) -> Dispatch? {
    while true {
      let (present, version) = entries(of: key)
      if let other = present.first(where: { $0.key == key }) { return other.dispatch }
      yieldPoint(.join, key.description)
      let isInserted = shard(of: key).withLock { shard in
        guard shard.version == version || isPlanted(.joinedTooLate) else { return false }
        shard.append(Entry(key: key, dispatch: dispatch))
        return true
      }
      guard isInserted else { continue }
      removeAtEnd(dispatch, key)
      return nil
    }
  }

  /// The first dispatch of a key whose stores have not ended.
  func first(_ key: TypedKey) -> Dispatch? {
    entries(of: key).entries.first { $0.key == key }?.dispatch
  }

  /// Called at once where the dispatch has ended meanwhile.
  private func removeAtEnd(_ dispatch: Dispatch, _ key: TypedKey) {
    dispatch.beforeResult { self.remove(dispatch, key) }
  }

  private func remove(_ dispatch: Dispatch, _ key: TypedKey) {
    let removed = shard(of: key).withLock { shard -> Entry? in
      guard let index = shard.entries[key.hash]?.firstIndex(where: { $0.dispatch === dispatch })
      else { return nil }
      let removed = shard.entries[key.hash]?.remove(at: index)
      if shard.entries[key.hash]?.isEmpty == true { shard.entries[key.hash] = nil }
      return removed
    }
    withExtendedLifetime(removed) {}
  }
}

/// The tables of a dispatcher.
final class ControlTables: DispatcherAttachment {
  let names = NameTable()
  /// Of dispatches that newer ones cancel.
  let latest = NameTable()
  /// Of dispatches beside which others are skipped.
  let singles = NameTable()
  /// Of dispatches that others join.
  let leaders = NameTable()
  let debounces = RateTable()
  let throttles = RateTable()
}

extension Dispatcher {
  var controlTables: ControlTables { attachment(orAdd: ControlTables()) }
}
