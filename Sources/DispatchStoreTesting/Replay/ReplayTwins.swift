import DispatchStore

/// Finds the dispatches of a replay that repeat those of a log.
struct ReplayTwins {
  private let recorded: [UInt64: DispatchLog.Entry]
  private let children: [UInt64: [DispatchLog.Entry]]
  /// By parent: the dispatches of the replay that repeat no other yet.
  private var open: [UInt64: [DispatchLog.Entry]] = [:]
  /// The dispatches of the replay by those of the log.
  private var twins: [UInt64: UInt64] = [:]
  /// The dispatches of the log whose children were compared.
  private var compared: Set<UInt64> = []

  init(of log: DispatchLog) {
    recorded = Dictionary(log.entries.compactMap { entry in entry.id.map { ($0, entry) } }) {
      first, _ in first
    }
    children = Dictionary(grouping: log.entries.filter { $0.parent != nil }) { $0.parent! }
  }

  /// Notes a dispatch that the replay has sent, and all that has ended since the last one.
  mutating func note(_ twin: UInt64, of id: UInt64?, _ ended: [DispatchLog.Entry]) {
    if let id { twins[id] = twin }
    for entry in ended {
      if let parent = entry.parent { open[parent, default: []].append(entry) }
    }
  }

  /// Returns the dispatch of the replay that repeats one of the log; nil if the replay has none.
  mutating func twin(of id: UInt64) -> UInt64? {
    // Up to the first known twin and down again in loops, since recursion could overflow if causes nest deeply.
    var (parents, next) = ([UInt64](), id)
    while twins[next] == nil, let parent = recorded[next]?.parent, compared.insert(parent).inserted
    {
      parents.append(parent)
      next = parent
    }
    for parent in parents.reversed() {
      guard let other = twins[parent] else { return nil }
      pairChildren(of: parent, with: open[other] ?? [])
    }
    return twins[id]
  }

  private mutating func pairChildren(of parent: UInt64, with others: [DispatchLog.Entry]) {
    var found = others
    let siblings = children[parent] ?? []
    // Stores repeat what their blocks have made, and the rest only if the replay has what made it.
    for child in siblings.filter({ !$0.isOutsideBlocks }) + siblings.filter(\.isOutsideBlocks) {
      guard let id = child.id, twins[id] == nil,
        let index = found.firstIndex(where: child.isRepeated)
      else { continue }
      twins[id] = found.remove(at: index).id
    }
  }
}

extension DispatchLog.Entry {
  /// Whether a dispatch of a replay has the same actions; compares types only if they are masked or not encodable.
  fileprivate func isRepeated(by other: DispatchLog.Entry) -> Bool {
    kind == other.kind
      && actions.elementsEqual(other.actions) {
        $0.type == $1.type && ($0.encoded == nil || $0.text == $1.text)
      }
  }
}
