/// The stores and middlewares of one dispatcher, and which stores respond to which action type.
///
/// A pure value behind the dispatcher's registry lock. Registering takes constant time; a dispatch uses
/// a snapshot of the stores that respond to its action's type.
struct Registry {
  private var entries: [String: StoreEntry] = [:]
  /// By a store's action type: the entries with that type, by their sequence numbers.
  private var declared: [ObjectIdentifier: [UInt64: StoreEntry]] = [:]
  /// The identifiers that a `waitFor` of a registered store declares; no others are remembered.
  private var awaited: [String: Awaited] = [:]
  /// The action types to which no store has responded.
  private var unanswered: Set<ObjectIdentifier> = []
  /// The database that saves stores, and the number of these stores; one more if it is the dispatcher's own.
  private var database: (identity: ObjectIdentifier, useCount: Int)?
  private var weakCount = 0
  /// The number of weakly held stores above which released ones are looked for.
  private var weakLimit = Self.leastWeakLimit
  private static let leastWeakLimit = 64
  private var sequence: UInt64 = 0
  private(set) var chain = MiddlewareChain()
  /// The followers of dispatches, in order of registration.
  private(set) var followers: [any DispatchFollower] = []
  /// The routes that were worked out, until a change affects them.
  var routes = RouteTable()
  private(set) var acceptance = Acceptance.open
  /// The acceptance that a pause allows; open if there is none.
  private(set) var pause = Acceptance.open
  /// The acceptance that a dispatch meets.
  var presentAcceptance: Acceptance { max(acceptance, pause) }
  private(set) var generation: DispatchGeneration
  /// Whether a route refers to the current generation.
  private var isGenerationUsed = false
  /// The previous generation, until it has ended.
  private weak var former: DispatchGeneration?

  private struct Awaited {
    /// The number of registered stores that declare the identifier.
    var declarers = 0
    /// Whether a store has been registered under the identifier since the first declaring store was.
    var wasRegistered: Bool
  }

  init(of dispatcher: UInt64) {
    generation = DispatchGeneration(of: dispatcher)
  }

  var middlewares: [any Middleware] { chain.registered.map(\.middleware) }

  /// The number of identifiers that are kept, of stores and of prerequisites.
  var identifierCount: Int { entries.count + awaited.keys.count { entries[$0] == nil } }

  var stores: [any StoreType] {
    entries.values.sorted { $0.sequence < $1.sequence }.compactMap(\.store)
  }

  var allEntries: [StoreEntry] { Array(entries.values) }

  func entry(_ identifier: String) -> StoreEntry? { entries[identifier] }

  /// Whether a store is registered under this identifier, or was while a registered store declared it.
  func wasRegistered(_ identifier: String) -> Bool {
    entries[identifier] != nil || awaited[identifier]?.wasRegistered == true
  }

  /// Returns the prerequisites that these entries declare, and under which no store was ever registered.
  private func unknownPrerequisites(of entries: [StoreEntry]) -> Set<String> {
    Set(entries.flatMap(\.waitFor.storeIdentifiers).filter { !wasRegistered($0) })
  }

  /// Notes that no store responds to actions of a type; returns whether this is new.
  mutating func noteUnanswered(_ type: any ActionType.Type) -> Bool {
    unanswered.insert(ObjectIdentifier(type)).inserted
  }

  /// Whether a store with this gate may be inserted.
  ///
  /// A dispatch waits at one gate, and an atomic action has one transaction.
  func mayInsert(with gate: EndGate?) -> Bool {
    guard let gate, let database else { return true }
    return database.identity == ObjectIdentifier(gate.database)
  }

  /// Notes that a database saves one more store, or is the dispatcher's own.
  mutating func use(_ database: AnyObject) {
    self.database = (ObjectIdentifier(database), (self.database?.useCount ?? 0) + 1)
  }

  private mutating func endUse() {
    guard let (identity, useCount) = database else { return }
    database = useCount > 1 ? (identity, useCount - 1) : nil
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
    if let gate = entry.endGate { use(gate.database) }
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
    if entry.endGate != nil { endUse() }
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
      declared[ObjectIdentifier(member.actionType), default: [:]][member.sequence] = member
    }
  }

  private mutating func unindex(_ entry: StoreEntry) {
    for member in entry.members {
      let type = ObjectIdentifier(member.actionType)
      declared[type]?[member.sequence] = nil
      if declared[type]?.isEmpty == true { declared[type] = nil }
    }
  }

  mutating func removeAll(where matches: (StoreEntry) -> Bool) -> [StoreEntry] {
    let matching = entries.values.filter(matches).sorted { $0.sequence < $1.sequence }
    return matching.compactMap { remove($0.identifier) }
  }

  /// Returns the entries of weakly held stores whenever their number has doubled; otherwise none.
  ///
  /// The caller then removes those that were released, which takes amortised constant time for each registration.
  mutating func takeWeakEntries() -> [StoreEntry] {
    guard weakCount > weakLimit else { return [] }
    weakLimit = 2 * weakCount
    return weakEntries
  }

  var weakEntries: [StoreEntry] { entries.values.filter { $0.ownership == .weak } }

  /// Sets the next limit, after the entries of released stores were removed.
  mutating func endSweep() {
    weakLimit = max(Self.leastWeakLimit, 2 * weakCount)
  }

  /// Returns the entries that respond to the type, at most the one with this identifier; nil for an unknown
  /// identifier.
  func responders(to type: any ActionType.Type, identifier: String?) -> [StoreEntry]? {
    guard let identifier else { return responders(to: type) }
    return entries[identifier].map { [$0.member(for: type)].compactMap(\.self) }
  }

  /// Returns the entries that respond to an action of this type, in order of registration.
  func responders(to type: any ActionType.Type) -> [StoreEntry] {
    let types =
      type is AnyClass
      ? declared.compactMap { $1.first?.value.responds(to: type) == true ? $0 : nil }
      : [ObjectIdentifier(type)]
    let responding = types.compactMap { declared[$0] }
    if responding.count == 1 { return responding[0].sorted { $0.key < $1.key }.map(\.value) }
    // A store that responds to a class and to its subclass takes part once.
    let stores = Set(responding.flatMap(\.values).map(\.identifier))
    return stores.compactMap { entries[$0]?.member(for: type) }
      .sorted { $0.sequence < $1.sequence }
  }

  /// Returns the shared route for a key, and makes it if there is none; nil for an unknown identifier.
  mutating func route(for key: RouteKey, _ type: any ActionType.Type) -> SharedRoute? {
    if let present = routes[key] { return present }
    guard let entries = responders(to: type, identifier: key.storeIdentifier) else { return nil }
    let chain = chain(for: type)
    let isAtomic = type is any AtomicAction.Type || chain.followers.contains(where: \.isDurable)
    let made = SharedRoute(
      key, type,
      Route(
        entries, chain: chain, unknown: unknownPrerequisites(of: entries), isAtomic: isAtomic,
        in: useGeneration()))
    routes.insert(made)
    return made
  }

  // MARK: Followers

  /// Returns the chain of a route, with the followers that respond to the action type.
  func chain(for type: any ActionType.Type) -> MiddlewareChain {
    if followers.isEmpty { return chain }
    let responding = followers.filter { $0.responds(to: type) }
    if responding.isEmpty { return chain }
    return MiddlewareChain(chain.registered, watcher: chain.watcher, followers: responding)
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

  // MARK: Closing

  /// Accepts only dispatches that work under way makes; from now on no thread's cache keeps a route.
  mutating func close() {
    if acceptance == .open { acceptance = .closed }
  }

  /// Accepts no dispatch any longer.
  mutating func end() { acceptance = .ended }

  /// Accepts only dispatches that work under way makes, until the pause ends.
  mutating func beginPause() { pause = .closed }

  mutating func endPause() { pause = .open }

  /// Returns the current generation, for a route.
  mutating func useGeneration() -> DispatchGeneration {
    isGenerationUsed = true
    return generation
  }

  /// Ends the current generation, and returns the last one in which a dispatch was accepted.
  ///
  /// Returns nil if nothing is under way. A closed dispatcher then accepts no dispatch any longer.
  mutating func endGeneration() -> DispatchGeneration? {
    guard isGenerationUsed else {
      // The caller gets the only reference: releasing it here would end the generation while the lock is locked.
      let last = isPlanted(.earlyDrain) ? nil : former
      if last == nil, acceptance == .closed { acceptance = .ended }
      if last == nil, pause == .closed { pause = .ended }
      return last
    }
    let last = generation
    generation = DispatchGeneration(of: last.dispatcher)
    last.keep(generation)
    (former, isGenerationUsed) = (last, false)
    routes.removeAll()
    return last
  }

  // MARK: Middlewares and the watcher

  mutating func insert(_ middleware: RegisteredMiddleware, isFirst: Bool = false) {
    let registered = chain.registered
    if registered.contains(where: { $0.middleware === middleware.middleware }) { return }
    changeChain(
      to: isFirst ? [middleware] + registered : registered + [middleware], chain.watcher)
  }

  /// Returns whether the middleware was registered.
  mutating func remove(_ middleware: any Middleware) -> Bool {
    let others = chain.registered.filter { $0.middleware !== middleware }
    guard others.count < chain.registered.count else { return false }
    changeChain(to: others, chain.watcher)
    return true
  }

  /// Sets the watcher of dispatches that are made from now on.
  mutating func set(_ watcher: (any DispatchWatcher)?) {
    changeChain(to: chain.registered, watcher)
  }

  private mutating func changeChain(
    to registered: [RegisteredMiddleware], _ watcher: (any DispatchWatcher)?
  ) {
    chain = MiddlewareChain(registered, watcher: watcher)
    routes.removeAll()
  }
}
