/// The stores and middlewares of one dispatcher, and who answers to which type of action.
///
/// A pure value behind the dispatcher's registry lock. Registering is constant in time; a dispatch
/// takes the list of those that respond to its action's type as its snapshot, and keeps that.
struct Registry {
  private var entries: [String: StoreEntry] = [:]
  /// By declared action type: those registered for it, in order of registration.
  private var declared: [ObjectIdentifier: [StoreEntry]] = [:]
  /// By an action's own type: the declared types that answer to it, worked out once per type.
  private var answering: [ObjectIdentifier: [ObjectIdentifier]] = [:]
  /// By an action's own type, where several declared types answer: those registered, in order.
  private var merged: [ObjectIdentifier: [StoreEntry]] = [:]
  /// Identifiers that were registered once and are gone: waiting for one is no error.
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
    if declared[type] == nil { answering.removeAll() }
    declared[type, default: []].append(entry)
    merged.removeAll()
  }

  mutating func remove(_ identifier: String) -> StoreEntry? {
    guard let entry = entries.removeValue(forKey: identifier) else { return nil }
    former.insert(identifier)
    entry.departed()
    let type = ObjectIdentifier(entry.actionType)
    if let place = declared[type]?.place(of: entry) { declared[type]?.remove(at: place) }
    merged.removeAll()
    if declared[type]?.isEmpty == true {
      declared[type] = nil
      answering.removeAll()
    }
    return entry
  }

  mutating func removeAll(where matches: (StoreEntry) -> Bool) -> [StoreEntry] {
    let matching = entries.values.filter(matches).sorted { $0.sequence < $1.sequence }
    return matching.compactMap { remove($0.identifier) }
  }

  /// The one of this identifier, or those that answer to the type; nil for one never registered.
  mutating func responders(
    to type: any ActionType.Type, identifier: String?
  ) -> [StoreEntry]? {
    guard let identifier else { return responders(to: type) }
    if let entry = entries[identifier] { return [entry] }
    return former.contains(identifier) ? [] : nil
  }

  /// Those that answer to an action of this type, in order of registration.
  mutating func responders(to type: any ActionType.Type) -> [StoreEntry] {
    let key = ObjectIdentifier(type)
    let types = answering[key] ?? workOut(type)
    if types.count == 1 { return declared[types[0]] ?? [] }
    if let entries = merged[key] { return entries }
    let entries = types.flatMap { declared[$0] ?? [] }.sorted { $0.sequence < $1.sequence }
    merged[key] = entries
    return entries
  }

  private mutating func workOut(_ type: any ActionType.Type) -> [ObjectIdentifier] {
    let types: [ObjectIdentifier]
    if type is AnyClass {
      types = declared.compactMap { $1[0].responds(to: type) ? $0 : nil }
    } else {
      types = [ObjectIdentifier(type)]
    }
    answering[ObjectIdentifier(type)] = types
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
  /// The place of an entry, among entries in order of registration.
  fileprivate func place(of entry: StoreEntry) -> Int? {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].sequence < entry.sequence { low = middle + 1 } else { high = middle }
    }
    return low < endIndex && self[low] === entry ? low : nil
  }
}
