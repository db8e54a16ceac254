/// Dispatches in flight, by keys of the program.
///
/// A dispatch is in the table from before its stores can begin until they have ended. The end removes it, so there is
/// nothing to clean up. Insertion and removal take constant time, however many dispatches share a key. Under the
/// lock, keys are distinguished by identity only; the program's code compares them outside.
final class NameTable: Sendable {
  /// The number of shards; a power of two.
  private static let shardCount = 16
  private let shards = (0..<shardCount).map { _ in Locked(Shard()) }

  /// Dispatches by the number of their insertion.
  typealias Members = [UInt64: Dispatch]

  private struct Line {
    /// The key object that stands for all equal keys.
    let key: TypedKey
    var members: Members = [:]
  }

  private struct Shard {
    /// Lines by hash.
    var lines: [Int: [Line]] = [:]
    /// The number of dispatches added so far.
    var count: UInt64 = 0

    /// Changes the dispatches of a key.
    ///
    /// Returns nil, and does nothing, if an unknown key that may be equal has a line.
    mutating func change<Result>(
      _ key: TypedKey, knowing known: [TypedKey], _ body: (inout Members) -> Result
    ) -> Result? {
      var index = lines[key.hash]?.firstIndex { $0.key === key }
      if index == nil {
        let others = lines[key.hash, default: []]
        guard others.allSatisfy({ other in known.contains { $0 === other.key } }) else {
          return nil
        }
        index = others.count
        lines[key.hash, default: []].append(Line(key: key))
      }
      defer {
        if lines[key.hash]![index!].members.isEmpty {
          lines[key.hash]!.remove(at: index!)
          if lines[key.hash]!.isEmpty { lines[key.hash] = nil }
        }
      }
      return body(&lines[key.hash]![index!].members)
    }
  }

  private func shard(of key: TypedKey) -> Locked<Shard> {
    shards[key.hash & (Self.shardCount - 1)]
  }

  /// Changes the dispatches of a key under the lock; the closure gets the key that stands for it, and a new number.
  private func change<Result>(
    _ key: TypedKey, _ body: (inout Members, TypedKey, UInt64) -> Result
  ) -> Result {
    let shard = shard(of: key)
    while true {
      let known = shard.withLock { $0.lines[key.hash]?.map(\.key) ?? [] }
      let representative = known.first { $0 == key } ?? key
      let result = shard.withLock { shard in
        shard.count += 1
        let number = shard.count
        return shard.change(representative, knowing: known) { body(&$0, representative, number) }
      }
      if let result { return result }
    }
  }

  private static func inOrder(_ members: Members) -> [Dispatch] {
    members.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The dispatches of a key that have not ended, in the order of their insertion.
  func dispatches(_ key: TypedKey) -> [Dispatch] {
    Self.inOrder(change(key) { members, _, _ in members }).filter { !$0.hasEnded }
  }

  /// The keys of all dispatches, by dispatch.
  var keys: [ObjectIdentifier: [TypedKey]] {
    var keys: [ObjectIdentifier: [TypedKey]] = [:]
    for shard in shards {
      for line in shard.withLock({ $0.lines.values.flatMap(\.self) }) {
        for dispatch in line.members.values {
          keys[ObjectIdentifier(dispatch), default: []].append(line.key)
        }
      }
    }
    return keys
  }

  /// Adds a dispatch, until its stores have ended.
  func insert(_ dispatch: Dispatch, _ key: TypedKey) {
    removeAtEnd(
      dispatch,
      change(key) { members, key, number in
        members[number] = dispatch
        return (key, number)
      })
  }

  /// Adds a dispatch in place of all earlier ones of the key but one.
  ///
  /// - Returns: The dispatches that it has replaced.
  func insert(_ dispatch: Dispatch, _ key: TypedKey, replacingAllBut spared: Dispatch?)
    -> [Dispatch]
  {
    let (entry, replaced) = change(key) { members, key, number in
      let replaced = members.filter { $0.value !== spared }
      members = members.filter { $0.value === spared }
      members[number] = dispatch
      return ((key, number), replaced)
    }
    removeAtEnd(dispatch, entry)
    return Self.inOrder(replaced)
  }

  /// A dispatch of a key whose stores have not ended; nil if there is none.
  func present(_ key: TypedKey) -> Dispatch? {
    change(key) { members, _, _ in members.first?.value }
  }

  /// Adds a dispatch, until its stores have ended, unless the key has one already, which is returned.
  func insertUnlessPresent(_ dispatch: Dispatch, _ key: TypedKey) -> Dispatch? {
    let (entry, present) = change(key) { members, key, number in
      let present = members.first?.value
      if present == nil { members[number] = dispatch }
      return ((key, number), present)
    }
    if present == nil { removeAtEnd(dispatch, entry) }
    return present
  }

  /// Removes the entry once the dispatch's stores have ended; at once if they have ended meanwhile.
  private func removeAtEnd(_ dispatch: Dispatch, _ entry: (key: TypedKey, number: UInt64)) {
    let shard = shard(of: entry.key)
    dispatch.beforeResult {
      let removed = shard.withLock { shard in
        shard.change(entry.key, knowing: []) { $0.removeValue(forKey: entry.number) }
      }
      withExtendedLifetime(removed) {}
    }
  }
}

/// The tables of a dispatcher.
final class ControlTables: DispatcherAttachment {
  let names = NameTable()
  /// Dispatches that newer ones cancel.
  let latest = NameTable()
  /// Dispatches beside which others are skipped.
  let singles = NameTable()
  let debounces = RateTable()
  let throttles = RateTable()
}

extension Dispatcher {
  var controlTables: ControlTables { attachment(orAdd: ControlTables()) }
}
