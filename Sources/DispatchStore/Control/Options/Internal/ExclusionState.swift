/// Holders of keys, and members that wait for keys: without threads.
///
/// A member takes all of its keys at once. A waiting member is in the line of each of its keys. It joins all of them
/// in one transition, so the lines agree on the order of arrival.
///
/// The first of a line is next. Later members wait even if the key is free, so that a member that needs several keys
/// does not wait for ever. An overtaking member is in no line: it takes its keys when all are free, and reserves
/// none.
struct ExclusionState<Key: Hashable, Member: AnyObject> {
  private var members: [ObjectIdentifier: Entry] = [:]
  private var lines: [Key: Line] = [:]
  /// Overtaking members, in the order in which they began to overtake.
  private var overtaking: [ObjectIdentifier] = []
  private var lastTicket: UInt64 = 0
  /// The number of waiting members that need several keys.
  private var severalCount = 0

  private struct Entry {
    let member: Member
    let keys: [Key]
    let ticket: UInt64
    var standing: Standing
  }

  private enum Standing {
    /// In the lines of its keys.
    ///
    /// Can become overtaking or holding.
    case waiting
    /// Can become holding.
    case overtaking
    case holding
  }

  private struct Line {
    var holder: ObjectIdentifier?
    /// Members in the order of their tickets, including tombstones of some that no longer wait.
    var queue = FIFO<(ticket: UInt64, id: ObjectIdentifier)>()
    /// The number of members in the queue that wait.
    var waitingCount = 0

    var isEmpty: Bool { holder == nil && waitingCount == 0 }
  }

  /// Whether no member is left, and no trace of former ones.
  var isEmpty: Bool { members.isEmpty && lines.isEmpty && severalCount == 0 }

  /// Whether the member has its keys; otherwise it waits for them from now on.
  mutating func enter(_ member: Member, _ keys: [Key]) -> Bool {
    let id = ObjectIdentifier(member)
    if let present = members[id] { return present.standing == .holding }
    lastTicket += 1
    let isFree = keys.allSatisfy { lines[$0]?.isEmpty ?? true }
    members[id] = Entry(member: member, keys: keys, ticket: lastTicket, standing: .waiting)
    if isFree {
      let taken = isPlanted(.firstKeyOnly) ? Array(keys.prefix(1)) : keys
      for key in taken { lines[key, default: Line()].holder = id }
      members[id]?.standing = .holding
    } else {
      for key in keys {
        lines[key, default: Line()].queue.append((lastTicket, id))
        lines[key]?.waitingCount += 1
      }
      if keys.count > 1 { severalCount += 1 }
    }
    return isFree
  }

  /// Removes a member that has ended, or no longer needs its keys.
  ///
  /// Returns the members that have got their keys now.
  mutating func leave(_ member: Member) -> [Member] {
    let id = ObjectIdentifier(member)
    guard let entry = members.removeValue(forKey: id) else { return [] }
    switch entry.standing {
    case .holding:
      for key in entry.keys where lines[key]?.holder == id { lines[key]?.holder = nil }
    case .waiting:
      leaveLines(entry)
    case .overtaking:
      overtaking.removeAll { $0 == id }
    }
    return settle(entry.keys)
  }

  /// Moves a waiting member before all others that wait.
  ///
  /// Returns the members that have got their keys now.
  mutating func overtake(_ member: Member) -> [Member] {
    let id = ObjectIdentifier(member)
    guard let entry = members[id], entry.standing == .waiting else { return [] }
    members[id]?.standing = .overtaking
    leaveLines(entry)
    overtaking.append(id)
    return settle(entry.keys)
  }

  // MARK: For the wait graph

  func holder(of key: Key) -> Member? {
    lines[key]?.holder.flatMap { members[$0]?.member }
  }

  /// The waiting member right before another one in the line of a key.
  ///
  /// Nil also if all waiting members need one key: then they wait for its holder, and nothing else.
  func predecessor(of member: Member, at key: Key) -> Member? {
    guard severalCount > 0, let entry = members[ObjectIdentifier(member)],
      entry.standing == .waiting, let line = lines[key]
    else { return nil }
    var (low, high) = (0, line.queue.count)
    while low < high {
      let middle = (low + high) / 2
      if line.queue[middle].ticket < entry.ticket { low = middle + 1 } else { high = middle }
    }
    while low > 0 {
      low -= 1
      if isWaiting(line.queue[low]) { return members[line.queue[low].id]?.member }
    }
    return nil
  }

  /// The holders of keys that members before this one need, in its lines and transitively in theirs.
  ///
  /// Linear in the number of waiting members. A predecessor may be about to leave, and so does not stand for the
  /// members before it.
  func holders(before member: Member) -> [Member] {
    guard severalCount > 0, let entry = members[ObjectIdentifier(member)],
      entry.standing == .waiting
    else { return [] }
    var holders: [Member] = []
    var walked: [Key: Int] = [:]
    var open = entry.keys.map { (key: $0, ticket: entry.ticket) }
    while let (key, ticket) = open.popLast() {
      guard let line = lines[key] else { continue }
      var index = walked[key] ?? 0
      while index < line.queue.count, line.queue[index].ticket < ticket {
        let place = line.queue[index]
        index += 1
        guard isWaiting(place), let other = members[place.id] else { continue }
        open += other.keys.map { (key: $0, ticket: other.ticket) }
        for holder in other.keys.compactMap(holder(of:)) {
          if !holders.contains(where: { $0 === holder }) { holders.append(holder) }
        }
      }
      walked[key] = index
    }
    return holders
  }

  // MARK: Lines

  private func isWaiting(_ place: (ticket: UInt64, id: ObjectIdentifier)) -> Bool {
    guard let entry = members[place.id] else { return false }
    return entry.ticket == place.ticket && entry.standing == .waiting
  }

  /// Takes a member out of the lines of its keys.
  private mutating func leaveLines(_ entry: Entry) {
    if entry.keys.count > 1 { severalCount -= 1 }
    for key in entry.keys {
      guard var line = lines.removeValue(forKey: key) else { continue }
      line.waitingCount -= 1
      if line.queue.count > 2 * line.waitingCount + 16 { line.queue.removeAll { !isWaiting($0) } }
      lines[key] = line
    }
  }

  /// The first waiting member in a key's line.
  private mutating func first(of key: Key) -> ObjectIdentifier? {
    guard var line = lines.removeValue(forKey: key) else { return nil }
    while let first = line.queue.first, !isWaiting(first) { _ = line.queue.popFirst() }
    lines[key] = line
    return line.queue.first?.id
  }

  /// Grants keys that may be free to the members that are next.
  ///
  /// Returns these members.
  private mutating func settle(_ keys: [Key]) -> [Member] {
    var granted = overtaking.filter { id in
      guard areFree(members[id]?.keys ?? []) else { return false }
      grant(id)
      return true
    }
    if !granted.isEmpty { overtaking.removeAll(where: granted.contains) }
    for key in keys {
      if let first = first(of: key), let entry = members[first], areFree(entry.keys),
        entry.keys.allSatisfy({ self.first(of: $0) == first })
      {
        leaveLines(entry)
        grant(first)
        granted.append(first)
      }
      if lines[key]?.isEmpty == true { lines[key] = nil }
    }
    return granted.compactMap { members[$0]?.member }
  }

  private func areFree(_ keys: [Key]) -> Bool {
    keys.allSatisfy { lines[$0]?.holder == nil }
  }

  private mutating func grant(_ id: ObjectIdentifier) {
    for key in members[id]?.keys ?? [] { lines[key, default: Line()].holder = id }
    members[id]?.standing = .holding
  }
}
