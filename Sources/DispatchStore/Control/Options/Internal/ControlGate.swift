/// The gate of a dispatch with conditions or exclusion keys.
///
/// The dispatch waits for the conditions without keys, and checks them again once it has these. A dispatch with keys
/// does not wait.
final class ControlGate: StartGate, @unchecked Sendable {
  // because `watch` is locked, and all else constant
  private let conditions: [StoreCondition]
  private let keys: [KeyedPlace]
  private let table: ExclusionTable
  private let watch = Locked(Watch())

  /// The observers of the conditions, while the dispatch waits for these.
  private struct Watch {
    var tokens: [ObserverToken] = []
    /// The condition that did not hold at the last check.
    var missing: Int?
  }

  init(_ conditions: [StoreCondition], _ keys: [KeyedPlace], of table: ExclusionTable) {
    (self.conditions, self.keys, self.table) = (conditions, keys, table)
    super.init()
  }

  override func letsPass(_ dispatch: Dispatch) -> Bool {
    while conditionsHold(for: dispatch) {
      if keys.isEmpty { return true }
      guard table.enter(dispatch, keys) else { return false }
      // Other holders of a key may have committed since the check.
      if conditions.isEmpty || check(dispatch) { return true }
      table.leave(dispatch)
    }
    if !keys.isEmpty { table.leave(dispatch) }
    return false
  }

  override func leave(_ dispatch: Dispatch) {
    stopWatching()
    if !keys.isEmpty { table.leave(dispatch) }
  }

  override func overtake(_ dispatch: Dispatch) {
    table.overtake(dispatch)
  }

  override func obstacles(of dispatch: Dispatch, followingLines: Bool) -> [GateObstacle] {
    if keys.isEmpty { return [] }
    return table.obstacles(of: dispatch, keys, followingLines: followingLines)
  }

  // MARK: Conditions

  private func conditionsHold(for dispatch: Dispatch) -> Bool {
    if conditions.isEmpty { return true }
    if check(dispatch) {
      stopWatching()
      return true
    }
    if watch.withLock({ !$0.tokens.isEmpty }) { return false }
    let tokens = conditions.map { $0.observe { dispatch.gateMayOpen() } }
    watch.withLock { $0.tokens = tokens }
    // Check again: a commit between the check and the observation has notified none of the observers.
    guard !isPlanted(.lostCondition), check(dispatch) else { return false }
    stopWatching()
    return true
  }

  private func check(_ dispatch: Dispatch) -> Bool {
    yieldPoint(.checkCondition, dispatch.id.description)
    let missing = firstMissing()
    watch.withLock { $0.missing = missing }
    return missing == nil
  }

  /// The first condition that does not hold, at one moment for all stores.
  private func firstMissing() -> Int? {
    var captured: [(version: UInt64, holds: () -> Bool)]
    repeat {
      captured = conditions.map { $0.capture() }
      // No store has changed meanwhile if all have their versions still.
    } while zip(conditions, captured).contains { $0.version() != $1.version }
    return captured.firstIndex { !$0.holds() }
  }

  private func stopWatching() {
    let tokens = watch.withLock { watch in
      defer { watch.tokens = [] }
      return watch.tokens
    }
    for token in tokens { token.cancel() }
  }

  // MARK: In words

  override func description(of dispatch: Dispatch, naming name: (Dispatch) -> String) -> String {
    if let missing = watch.withLock(\.missing) {
      return "a condition on the store \"\(conditions[missing].storeIdentifier)\""
    }
    let obstacles = obstacles(of: dispatch, followingLines: false)
    let texts = keys.compactMap { key -> String? in
      let others = obstacles.filter { $0.key === key.key }
      guard let other = others.first(where: \.isHolder) ?? others.first else { return nil }
      let has = other.isHolder ? "held by" : "for which it is behind"
      return "the exclusion key \"\(key.key.description)\", \(has) \(name(other.dispatch))"
    }
    return texts.isEmpty ? "its turn for its exclusion keys" : texts.joined(separator: ", and ")
  }
}
