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
    if let known = twins[id] { return known }
    guard let parent = recorded[id]?.parent, compared.insert(parent).inserted,
      let other = self.twin(of: parent)
    else { return nil }
    var found = open[other] ?? []
    let siblings = children[parent] ?? []
    // Stores repeat what their blocks have made, and the rest only if the replay has what made it.
    for child in siblings.filter({ !$0.isOutsideBlocks }) + siblings.filter(\.isOutsideBlocks) {
      guard let id = child.id, twins[id] == nil,
        let index = found.firstIndex(where: child.isRepeated)
      else { continue }
      twins[id] = found.remove(at: index).id
    }
    return twins[id]
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
