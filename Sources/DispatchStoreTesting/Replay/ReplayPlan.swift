import DispatchStore

/// The dispatches of a log that no block of a store has made, in the order of their commits, or else of their ends.
///
/// Those that ended before they began are left out.
struct ReplayPlan {
  /// A dispatch with its decoded actions.
  struct Root: Sendable {
    let entry: DispatchLog.Entry
    let actions: [AnyAction]
    /// The only store that took part; nil if there were more.
    let store: String?
    /// The reason why its actions can't be sent, if a hook, an observer, a completion or an effect has made it: the
    /// replay may make it by itself.
    let failure: (any Error)?
    /// The number of the root that has made it, by a hook, an observer, a completion or an effect; nil for most.
    var cause: UInt64?
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
    let places = Dictionary(
      log.entries.indices.compactMap { index in log.entries[index].id.map { ($0, index) } }
    ) { first, _ in first }
    let children = Self.children(in: log)
    let roots = log.entries.indices.filter { index in
      let entry = log.entries[index]
      if entry.kind == .change { return false }
      guard let parent = entry.parent, places[parent] != nil else { return true }
      return entry.isOutsideBlocks
    }
    if let change = log.entries.first(where: { $0.kind == .change }) {
      throw ReplayError(
        description: """
          The log can't be replayed: store "\(change.stores.first?.store ?? "")" was changed outside of any dispatch, by \
          updateModel or inject. Record a program that changes its stores by actions.
          """)
    }
    let owners = Self.owners(of: roots, children, in: log)
    let effective = Set(owners.filter { log.entries[$0.key].hasBegun }.values)
    var causes: [Int: Int] = [:]
    for root in roots {
      let parent = log.entries[root].parent.flatMap { places[$0] }
      causes[root] = parent.flatMap { owners[$0] }
    }
    let ordered = Self.order(roots, owners, causes, in: log).filter(effective.contains)
    self.roots = try ordered.map { index in
      let entry = log.entries[index]
      let actions: Result<[AnyAction], any Error> = Result {
        try entry.actions.map { try Self.decode($0, coder) }
      }
      let cause = causes[index].flatMap { log.entries[$0].id }
      let made = (entry.id.flatMap { children[$0] } ?? []).map { log.entries[$0] }
      let steps = entry.kind == .sequence ? made.filter { !$0.isOutsideBlocks } : [entry]
      let runs = steps.flatMap(\.stores).filter(\.tookPart)
      let store = Set(runs.map(\.store)).count == 1 ? runs.first?.store : nil
      guard cause != nil, case .failure(let error) = actions else {
        return Root(
          entry: entry, actions: try actions.get(), store: store, failure: nil, cause: cause)
      }
      return Root(entry: entry, actions: [], store: store, failure: error, cause: cause)
    }
  }

  static func decode(_ action: DispatchLog.Action, _ coder: ActionCoder) throws -> AnyAction {
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

  /// Returns dispatches in the order of the log, but each of them after those whose commits came before its own.
  ///
  /// - Parameter causes: The roots before which others can't come.
  private static func order(
    _ roots: [Int], _ rootOf: [Int: Int], _ causes: [Int: Int], in log: DispatchLog
  ) -> [Int] {
    var commits: [String: [(version: UInt64, root: Int)]] = [:]
    for (index, entry) in log.entries.enumerated() {
      guard let root = rootOf[index] else { continue }
      for run in entry.stores where run.newVersion > run.oldVersion {
        commits[run.store, default: []].append((run.oldVersion, root))
      }
    }
    // By root: those that come before it.
    var earlier = causes.mapValues { [$0] }
    for list in commits.values.map({ $0.sorted { $0.version < $1.version } }) {
      for (one, next) in zip(list, list.dropFirst()) where one.root != next.root {
        earlier[next.root, default: []].append(one.root)
      }
    }
    // In a loop, since recursion could overflow.
    var (ordered, begun, ended): ([Int], Set<Int>, Set<Int>) = ([], [], [])
    for root in roots {
      var path = [root]
      while let next = path.last {
        if begun.insert(next).inserted {
          path += (earlier[next] ?? []).filter { !begun.contains($0) }.sorted(by: >)
        } else {
          path.removeLast()
          if ended.insert(next).inserted { ordered.append(next) }
        }
      }
    }
    // Dispatches whose commits alternate have no such order, but for their causes.
    var (inOrder, done): ([Int], Set<Int>) = ([], [])
    for root in ordered {
      var (chain, next): ([Int], Int?) = ([], root)
      while let index = next, done.insert(index).inserted {
        chain.append(index)
        next = causes[index]
      }
      inOrder += chain.reversed()
    }
    return inOrder
  }

  /// Returns the indices of the entries with a parent, by the parent's number.
  private static func children(in log: DispatchLog) -> [UInt64: [Int]] {
    var children: [UInt64: [Int]] = [:]
    for (index, entry) in log.entries.enumerated() {
      if let parent = entry.parent { children[parent, default: []].append(index) }
    }
    return children
  }

  /// Returns, by the index of each entry, the index of the root that has made it.
  private static func owners(
    of roots: [Int], _ children: [UInt64: [Int]], in log: DispatchLog
  ) -> [Int: Int] {
    var (owners, others): ([Int: Int], Set<Int>) = ([:], Set(roots))
    for root in roots {
      var open = [root]
      while let index = open.popLast() {
        owners[index] = root
        let made = log.entries[index].id.flatMap { children[$0] } ?? []
        open += made.filter { others.insert($0).inserted }
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
