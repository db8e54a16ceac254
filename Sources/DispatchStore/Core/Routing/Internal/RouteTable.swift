/// The key by which a route is found.
struct RouteKey {
  let dispatcher: UInt64
  let actionType: ObjectIdentifier
  let storeIdentifier: String?
}

/// A route in the registry, with the threads that have a copy of it.
final class SharedRoute: @unchecked Sendable {
  // because the registry's lock guards what changes, until the route has left the registry and nothing changes it
  // The properties that each lookup reads come first, so that they share one cache line.
  let route: Route
  /// The number of dispatches that have used the route itself rather than a copy.
  private(set) var outstanding = 0
  let key: RouteKey
  let actionType: any ActionType.Type
  /// The caches that have, or have had, a copy; usually few.
  private(set) var caches: [RouteCache.ID] = []

  init(_ key: RouteKey, _ actionType: any ActionType.Type, _ route: Route) {
    self.key = key
    self.actionType = actionType
    self.route = route
  }

  /// Returns the route itself, outstanding for one more dispatch.
  func use() -> Unmanaged<Route> {
    outstanding += 1
    return .passUnretained(route)
  }

  /// Notes that a thread's cache gets a copy.
  func note(_ cache: RouteCache.ID) {
    if caches.contains(cache) { return }
    caches.append(cache)
    // Threads come and go: whenever the number of caches has doubled, those of ended threads are forgotten.
    if caches.count >= 64, caches.count.nonzeroBitCount == 1 {
      caches = RouteCache.present(among: caches)
    }
  }
}

/// The routes of a dispatcher: by action type, or by a store's identifier and action type.
///
/// A change of the registry removes only the routes that it affects. This takes constant time, except for the routes
/// of one identifier and for action types that are classes.
struct RouteTable {
  /// By a store's identifier, or nil, then by action type.
  private var routes: [String?: [ObjectIdentifier: SharedRoute]] = [:]
  /// The incomplete routes of `routes`.
  private var incomplete: [ObjectIdentifier: SharedRoute] = [:]
  private var removed: [SharedRoute] = []

  private var all: [SharedRoute] { routes.values.flatMap(\.values) }

  subscript(key: RouteKey) -> SharedRoute? { routes[key.storeIdentifier]?[key.actionType] }

  mutating func insert(_ route: SharedRoute) {
    routes[route.key.storeIdentifier, default: [:]][route.key.actionType] = route
    if route.route.isIncomplete { incomplete[ObjectIdentifier(route)] = route }
  }

  /// - Parameter isAwaited: Whether stores wait for the entry's identifier, which is known from now on.
  mutating func remove(concerning entry: StoreEntry, isAwaited: Bool) {
    for member in entry.members {
      if member.actionType is AnyClass {
        for route in routes(of: nil) where member.responds(to: route.actionType) { remove(route) }
      } else if let route = routes[.none]?[ObjectIdentifier(member.actionType)] {
        remove(route)
      }
    }
    let named = routes(of: entry.identifier)
    for route in isPlanted(.keptRoute) ? Array(named.prefix(1)) : named { remove(route) }
    if isAwaited { for route in incomplete.values { remove(route) } }
  }

  mutating func remove(concerning follower: any DispatchFollower) {
    for route in all where follower.responds(to: route.actionType) { remove(route) }
  }

  mutating func removeAll() {
    removed += all
    (routes, incomplete) = ([:], [:])
  }

  /// Takes the removed routes, to be evicted from the threads' caches.
  mutating func takeRemoved() -> [SharedRoute] {
    defer { removed = [] }
    return removed
  }

  private func routes(of identifier: String?) -> [SharedRoute] {
    routes[identifier].map { Array($0.values) } ?? []
  }

  private mutating func remove(_ route: SharedRoute) {
    let identifier = route.key.storeIdentifier
    routes[identifier]?[route.key.actionType] = nil
    if routes[identifier]?.isEmpty == true { routes.removeValue(forKey: identifier) }
    incomplete[ObjectIdentifier(route)] = nil
    removed.append(route)
  }
}
