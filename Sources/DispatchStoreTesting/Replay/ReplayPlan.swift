import DispatchStore

/// The dispatches of a log that no other dispatch of it has made, in the order of their commits.
///
/// Those that ended before they began are left out.
struct ReplayPlan {
  /// A dispatch with its decoded actions.
  struct Root: Sendable {
    let entry: DispatchLog.Entry
    let actions: [AnyAction]
  }

  let roots: [Root]

  init(_ log: DispatchLog, decoding coder: ActionCoder) throws {
    if log.droppedCount > 0 {
      throw ReplayError(
        description: """
          The log can't be replayed: entries are missing: \(log.droppedCount) \
          \(log.droppedCount == 1 ? "was" : "were") dropped, or not read. Give the recorder a higher limit.
          """)
    }
    let known = Set(log.entries.compactMap(\.id))
    let roots = log.entries.indices.filter { index in
      let entry = log.entries[index]
      return entry.kind != .change && entry.parent.map(known.contains) != true
    }
    if let change = log.entries.first(where: { $0.kind == .change }) {
      throw ReplayError(
        description: """
          The log can't be replayed: store "\(change.stores.first?.store ?? "")" was changed outside of any dispatch, by \
          updateModel or inject. Record a program that changes its stores by actions.
          """)
    }
    let owners = Self.owners(of: roots, in: log)
    let effective = Set(owners.filter { log.entries[$0.key].hasBegun }.values)
    self.roots = try Self.order(roots, owners, in: log).filter(effective.contains).map { index in
      let entry = log.entries[index]
      return Root(entry: entry, actions: try entry.actions.map { try Self.decode($0, coder) })
    }
  }

  private static func decode(_ action: DispatchLog.Action, _ coder: ActionCoder) throws -> AnyAction
  {
    guard let encoded = action.encoded else {
      if action.type == "\(UndoStep.self)" {
        throw ReplayError(
          description: "The log can't be replayed: it has an undo or a redo. Record without them.")
      }
      throw ReplayError(
        description: """
          The log can't be replayed: action \(action.text) has no encoded form. Let \(action.type) conform to \
          CodableAction, and mask none of its fields.
          """)
    }
    do {
      var decoder = PlainDecoder()
      decoder.userInfo[.actionCoder] = coder
      return try decoder.decode(EncodedAction.self, from: encoded).action
    } catch {
      throw ReplayError(
        description: "The log can't be replayed: action \(action.text) can't be decoded. \(error)")
    }
  }

  /// Returns dispatches so that each store's commits come in the order of their versions, otherwise as in the log.
  private static func order(
    _ roots: [Int], _ rootOf: [Int: Int], in log: DispatchLog
  ) -> [Int] {
    // By store: the roots in the order of their first commits.
    var firsts: [String: [(version: UInt64, root: Int)]] = [:]
    for (index, entry) in log.entries.enumerated() {
      guard let root = rootOf[index] else { continue }
      for run in entry.stores where run.newVersion > run.oldVersion {
        firsts[run.store, default: []].append((run.oldVersion, root))
      }
    }
    var (followers, blockers): ([Int: Set<Int>], [Int: Int]) = ([:], [:])
    for list in firsts.values.map({ $0.sorted { $0.version < $1.version } }) {
      for (one, next) in zip(list, list.dropFirst()) where one.root != next.root {
        if followers[one.root, default: []].insert(next.root).inserted {
          blockers[next.root, default: 0] += 1
        }
      }
    }
    var (ordered, open): ([Int], [Int]) = ([], roots.filter { blockers[$0] == nil }.reversed())
    while let next = open.popLast() {
      ordered.append(next)
      for follower in (followers[next] ?? []).sorted(by: >) {
        blockers[follower]! -= 1
        if blockers[follower] == 0 { open.append(follower) }
      }
    }
    // Dispatches whose commits alternate have no such order.
    let done = Set(ordered)
    return ordered + roots.filter { !done.contains($0) }
  }

  /// Returns, by the index of each entry, the index of the root that has made it.
  private static func owners(of roots: [Int], in log: DispatchLog) -> [Int: Int] {
    var children: [UInt64: [Int]] = [:]
    for (index, entry) in log.entries.enumerated() {
      if let parent = entry.parent { children[parent, default: []].append(index) }
    }
    var owners: [Int: Int] = [:]
    for root in roots {
      var open = [root]
      while let index = open.popLast() {
        owners[index] = root
        if let id = log.entries[index].id { open += children[id] ?? [] }
      }
    }
    return owners
  }
}

extension DispatchLog.Entry {
  /// Whether a store has run, or none was to run.
  fileprivate var hasBegun: Bool {
    error == nil
      || stores.contains { run in
        ![.cancelled, .timedOut].contains(run.outcome) || run.newVersion > run.oldVersion
      }
  }
}
