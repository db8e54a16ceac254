import DispatchStore

/// Finds the dispatches of a replay that repeat those of a log.
struct ReplayTwins {
  private let coder: ActionCoder
  private let recorded: [UInt64: DispatchLog.Entry]
  private let children: [UInt64: [DispatchLog.Entry]]
  /// By parent: the dispatches of the replay that repeat no other yet.
  private var open: [UInt64: [DispatchLog.Entry]] = [:]
  /// The dispatches of the replay by those of the log.
  private var twins: [UInt64: UInt64] = [:]
  /// The dispatches of the log whose children were compared.
  private var compared: Set<UInt64> = []

  /// - Parameter coder: The coder of the replay's recorder.
  init(of log: DispatchLog, decoding coder: ActionCoder) {
    self.coder = coder
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
      guard let id = child.id, twins[id] == nil, !found.isEmpty else { continue }
      let forms = child.actions.map { presentForm(of: $0) }
      guard let index = found.firstIndex(where: { child.isRepeated(by: $0, forms) })
      else { continue }
      twins[id] = found.remove(at: index).id
    }
  }

  /// Encodes an action of the log as the replay's recorder does: its type may have been renamed since.
  ///
  /// Nil if it can't be decoded.
  private func presentForm(of action: DispatchLog.Action) -> PlainValue? {
    guard let action = try? ReplayPlan.decode(action, coder) else { return nil }
    var encoder = PlainEncoder()
    encoder.userInfo[.actionCoder] = coder
    return try? encoder.encode(EncodedAction(action))
  }
}

extension DispatchLog.Entry {
  /// Whether a dispatch of a replay has the same actions; compares types only if they are masked or not encodable.
  ///
  /// - Parameter forms: The encoded forms that its actions have now.
  fileprivate func isRepeated(by other: DispatchLog.Entry, _ forms: [PlainValue?]) -> Bool {
    kind == other.kind && actions.count == other.actions.count
      && actions.indices.allSatisfy { index in
        let (own, other) = (actions[index], other.actions[index])
        if let form = forms[index], form == other.encoded { return true }
        return own.type == other.type && (own.encoded == nil || own.text == other.text)
      }
  }
}
