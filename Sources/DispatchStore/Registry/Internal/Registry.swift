/// The stores and middlewares of one dispatcher, and which stores respond to which action type.
///
/// A pure value behind the dispatcher's registry lock. Registering takes constant time; a dispatch uses
/// a snapshot of the stores that respond to its action's type.
struct Registry {
  private var entries: [String: StoreEntry] = [:]
  /// By a store's action type: the entries with that type, in order of registration.
  private var declared: [ObjectIdentifier: [StoreEntry]] = [:]
  /// By an action's type: the declared types that respond to it, computed once per type.
  private var responding: [ObjectIdentifier: [ObjectIdentifier]] = [:]
  /// By an action's type, where several declared types respond: the entries, in order of registration.
  private var merged: [ObjectIdentifier: [StoreEntry]] = [:]
  /// Identifiers that were registered once and are no longer: waiting for one is no error.
  private var former: Set<String> = []
  private var sequence: UInt64 = 0
  private(set) var middlewares: [any Middleware] = []

  var stores: [any StoreType] {
    entries.values.sorted { $0.sequence < $1.sequence }.compactMap(\.store)
  }

  func entry(_ identifier: String) -> StoreEntry? { entries[identifier] }

  /// Whether a store is, or ever was, registered under this identifier.
  func wasRegistered(_ identifier: String) -> Bool {
    entries[identifier] != nil || former.contains(identifier)
  }

  mutating func insert(_ makeEntry: (_ sequence: UInt64) -> StoreEntry) {
    sequence += 1
    let entry = makeEntry(sequence)
    let type = ObjectIdentifier(entry.actionType)
    entries[entry.identifier] = entry
    if declared[type] == nil { responding.removeAll() }
    declared[type, default: []].append(entry)
    merged.removeAll()
  }

  mutating func remove(_ identifier: String) -> StoreEntry? {
    guard let entry = entries.removeValue(forKey: identifier) else { return nil }
    former.insert(identifier)
    entry.departed()
    let type = ObjectIdentifier(entry.actionType)
    if let index = declared[type]?.index(of: entry) { declared[type]?.remove(at: index) }
    merged.removeAll()
    if declared[type]?.isEmpty == true {
      declared[type] = nil
      responding.removeAll()
    }
    return entry
  }

  mutating func removeAll(where matches: (StoreEntry) -> Bool) -> [StoreEntry] {
    let matching = entries.values.filter(matches).sorted { $0.sequence < $1.sequence }
    return matching.compactMap { remove($0.identifier) }
  }

  /// The entry with this identifier, or those that respond to the type; nil for an unknown identifier.
  mutating func responders(
    to type: any ActionType.Type, identifier: String?
  ) -> [StoreEntry]? {
    guard let identifier else { return responders(to: type) }
    if let entry = entries[identifier] { return [entry] }
    return former.contains(identifier) ? [] : nil
  }

  /// The entries that respond to an action of this type, in order of registration.
  mutating func responders(to type: any ActionType.Type) -> [StoreEntry] {
    let key = ObjectIdentifier(type)
    let types = responding[key] ?? computeResponding(to: type)
    if types.count == 1 { return declared[types[0]] ?? [] }
    if let entries = merged[key] { return entries }
    let entries = types.flatMap { declared[$0] ?? [] }.sorted { $0.sequence < $1.sequence }
    merged[key] = entries
    return entries
  }

  private mutating func computeResponding(to type: any ActionType.Type) -> [ObjectIdentifier] {
    let types: [ObjectIdentifier]
    if type is AnyClass {
      types = declared.compactMap { $1[0].responds(to: type) ? $0 : nil }
    } else {
      types = [ObjectIdentifier(type)]
    }
    responding[ObjectIdentifier(type)] = types
    return types
  }

  mutating func insert(_ middleware: any Middleware) {
    guard !middlewares.contains(where: { $0 === middleware }) else { return }
    middlewares.append(middleware)
  }

  mutating func removeMiddlewares(
    where matches: (any Middleware) -> Bool
  ) -> [any Middleware] {
    let matching = middlewares.filter(matches)
    middlewares.removeAll(where: matches)
    return matching
  }
}

extension [StoreEntry] {
  /// The index of an entry, by binary search: the entries are in order of registration.
  fileprivate func index(of entry: StoreEntry) -> Int? {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].sequence < entry.sequence { low = middle + 1 } else { high = middle }
    }
    return low < endIndex && self[low] === entry ? low : nil
  }
}
