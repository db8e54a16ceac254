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
  /// The identifiers that a `waitFor` of a registered store declares; no others are remembered.
  private var awaited: [String: Awaited] = [:]
  /// The action types to which no store has responded.
  private var unanswered: Set<ObjectIdentifier> = []
  private var weakCount = 0
  /// How many weakly held stores there may be before those that were released are looked for.
  private var weakLimit = Self.leastWeakLimit
  private static let leastWeakLimit = 64
  private var sequence: UInt64 = 0
  private(set) var chain = MiddlewareChain([])
  /// What follows dispatches, in order of registration.
  private(set) var followers: [any DispatchFollower] = []
  /// The routes that were worked out since what they are made of has changed.
  var routes = RouteTable()
  private(set) var acceptance = Acceptance.open
  private(set) var generation: DispatchGeneration
  /// Whether a route refers to it.
  private var isGenerationUsed = false
  /// The one before it, until that has ended.
  private weak var former: DispatchGeneration?

  private struct Awaited {
    /// How many registered stores declare it.
    var declarers = 0
    /// Whether a store has been registered under it since the first of them was.
    var wasRegistered: Bool
  }

  init(of dispatcher: UInt64) {
    generation = DispatchGeneration(of: dispatcher)
  }

  var middlewares: [any Middleware] { chain.middlewares }

  /// How many identifiers it keeps, of stores and of prerequisites.
  var identifierCount: Int { entries.count + awaited.keys.count { entries[$0] == nil } }

  var stores: [any StoreType] {
    entries.values.sorted { $0.sequence < $1.sequence }.compactMap(\.store)
  }

  func entry(_ identifier: String) -> StoreEntry? { entries[identifier] }

  /// Whether a store is registered under this identifier, or was while a registered store declared it.
  func wasRegistered(_ identifier: String) -> Bool {
    entries[identifier] != nil || awaited[identifier]?.wasRegistered == true
  }

  /// The prerequisites that these entries declare, and under which no store was ever registered.
  func unknownPrerequisites(of entries: [StoreEntry]) -> Set<String> {
    var unknown: Set<String> = []
    for entry in entries {
      for identifier in entry.waitFor.storeIdentifiers where !wasRegistered(identifier) {
        unknown.insert(identifier)
      }
    }
    return unknown
  }

  /// Notes that no store responds to actions of a type; whether that is news.
  mutating func noteUnanswered(_ type: any ActionType.Type) -> Bool {
    unanswered.insert(ObjectIdentifier(type)).inserted
  }

  mutating func insert(_ makeEntry: (_ sequence: UInt64) -> StoreEntry) {
    sequence += 1
    let entry = makeEntry(sequence)
    entries[entry.identifier] = entry
    awaited[entry.identifier]?.wasRegistered = true
    for identifier in Set(entry.waitFor.storeIdentifiers) {
      awaited[identifier, default: Awaited(wasRegistered: entries[identifier] != nil)].declarers +=
        1
    }
    if entry.ownership == .weak { weakCount += 1 }
    index(entry)
    routes.remove(concerning: entry, isAwaited: awaited[entry.identifier] != nil)
  }

  mutating func remove(_ identifier: String) -> StoreEntry? {
    guard let entry = entries.removeValue(forKey: identifier) else { return nil }
    for identifier in Set(entry.waitFor.storeIdentifiers) {
      awaited[identifier]!.declarers -= 1
      if awaited[identifier]!.declarers == 0 { awaited[identifier] = nil }
    }
    if entry.ownership == .weak { weakCount -= 1 }
    entry.departed()
    unindex(entry)
    routes.remove(concerning: entry, isAwaited: false)
    return entry
  }

  /// Replaces the entry of a store that from now on responds to other action types.
  mutating func replace(_ entry: StoreEntry, by successor: StoreEntry) {
    entries[entry.identifier] = successor
    unindex(entry)
    index(successor)
    routes.remove(concerning: entry, isAwaited: false)
    routes.remove(concerning: successor, isAwaited: false)
  }

  private mutating func index(_ entry: StoreEntry) {
    for member in entry.members {
      let type = ObjectIdentifier(member.actionType)
      if declared[type] == nil { responding.removeAll() }
      declared[type, default: []].insert(inOrder: member)
    }
  }

  private mutating func unindex(_ entry: StoreEntry) {
    for member in entry.members {
      let type = ObjectIdentifier(member.actionType)
      declared[type]?.remove(member)
      if declared[type]?.isEmpty == true {
        declared[type] = nil
        responding.removeAll()
      }
    }
  }

  mutating func removeAll(where matches: (StoreEntry) -> Bool) -> [StoreEntry] {
    let matching = entries.values.filter(matches).sorted { $0.sequence < $1.sequence }
    return matching.compactMap { remove($0.identifier) }
  }

  /// The entries of weakly held stores, each time when they have become twice as many.
  ///
  /// Those that were released are then to be removed: in constant time for each registration.
  mutating func takeWeakEntries() -> [StoreEntry] {
    guard weakCount > weakLimit else { return [] }
    weakLimit = 2 * weakCount
    return entries.values.filter { $0.ownership == .weak }
  }

  /// Those that were released have been removed.
  mutating func endSweep() {
    weakLimit = max(Self.leastWeakLimit, 2 * weakCount)
  }

  /// The entries that respond to the type, at most the one with this identifier; nil for an unknown one.
  mutating func responders(
    to type: any ActionType.Type, identifier: String?
  ) -> [StoreEntry]? {
    guard let identifier else { return responders(to: type) }
    return entries[identifier].map { [$0.member(for: type)].compactMap(\.self) }
  }

  /// The entries that respond to an action of this type, in order of registration.
  mutating func responders(to type: any ActionType.Type) -> [StoreEntry] {
    let key = ObjectIdentifier(type)
    let types = responding[key] ?? computeResponding(to: type)
    if types.count == 1 { return declared[types[0]] ?? [] }
    // A store that responds to a class and to its subclass takes part once.
    let stores = Set(types.flatMap { declared[$0] ?? [] }.map(\.identifier))
    return stores.compactMap { entries[$0]?.member(for: type) }
      .sorted { $0.sequence < $1.sequence }
  }

  /// The shared route for a key, made where there is none; nil for an unknown identifier.
  mutating func route(for key: RouteKey, _ type: any ActionType.Type) -> SharedRoute? {
    if let present = routes[key] { return present }
    guard let entries = responders(to: type, identifier: key.storeIdentifier) else { return nil }
    let made = SharedRoute(
      key, type,
      Route(
        entries, chain: chain(for: type), unknown: unknownPrerequisites(of: entries),
        in: useGeneration()))
    routes.insert(made)
    return made
  }

  // MARK: What follows dispatches

  /// The chain of a route: with the followers that respond to the action type, where there are such.
  private func chain(for type: any ActionType.Type) -> MiddlewareChain {
    if followers.isEmpty { return chain }
    let responding = followers.filter { $0.responds(to: type) }
    return responding.isEmpty ? chain : MiddlewareChain(middlewares, followers: responding)
  }

  mutating func insert(_ follower: any DispatchFollower) {
    followers.append(follower)
    routes.remove(concerning: follower)
  }

  mutating func remove(_ follower: any DispatchFollower) -> Bool {
    guard let index = followers.firstIndex(where: { $0 === follower }) else { return false }
    followers.remove(at: index)
    routes.remove(concerning: follower)
    return true
  }

  // MARK: The end of its life

  /// Accepts only what work under way dispatches: no cache of a thread keeps a route from now on.
  mutating func close() {
    if acceptance == .open { acceptance = .closed }
  }

  /// Accepts no dispatch any longer.
  mutating func end() { acceptance = .ended }

  /// The present generation, for a route.
  mutating func useGeneration() -> DispatchGeneration {
    isGenerationUsed = true
    return generation
  }

  /// The last generation in which a dispatch was accepted, after which another one begins; nil where nothing is under
  /// way: then a closed dispatcher accepts no dispatch any longer.
  mutating func endGeneration() -> DispatchGeneration? {
    guard isGenerationUsed else {
      // One reference, which the caller has: here its end would find the lock locked.
      let last = isPlanted(.earlyDrain) ? nil : former
      if last == nil, acceptance == .closed { acceptance = .ended }
      return last
    }
    let last = generation
    generation = DispatchGeneration(of: last.dispatcher)
    last.keep(generation)
    (former, isGenerationUsed) = (last, false)
    routes.removeAll()
    return last
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
    chain = MiddlewareChain(middlewares + [middleware])
    routes.removeAll()
  }

  mutating func removeMiddlewares(
    where matches: (any Middleware) -> Bool
  ) -> [any Middleware] {
    let matching = middlewares.filter(matches)
    guard !matching.isEmpty else { return [] }
    chain = MiddlewareChain(middlewares.filter { !matches($0) })
    routes.removeAll()
    return matching
  }
}

// In order of registration.
extension [StoreEntry] {
  fileprivate mutating func insert(inOrder entry: StoreEntry) {
    insert(entry, at: index(of: entry.sequence))
  }

  fileprivate mutating func remove(_ entry: StoreEntry) {
    let index = index(of: entry.sequence)
    if index < endIndex, self[index] === entry { remove(at: index) }
  }

  /// The index of the first entry that was registered at that time or later, by binary search.
  private func index(of sequence: UInt64) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].sequence < sequence { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
