/// What those of a plan's selectors have read that read the model, each at its place of the plan.
struct SelectorRoots: Sendable {
  private(set) var selections: [Selection?] = []

  /// Reads the model; whether something has changed, as far as the bytes show.
  mutating func read(_ model: UnsafeRawPointer, of node: SelectorNode, stamp: UInt64) -> Bool {
    let plan = node.plan
    if selections.isEmpty { selections = Array(repeating: nil, count: plan.count) }
    var hasChanged = false
    for index in selections.indices where plan.isRoot[index] {
      let last = selections[index]
      let selection = plan.node(index, of: node).read(model, last: last, stamp: stamp)
      guard selection !== last else { continue }
      selections[index] = selection
      hasChanged = true
    }
    return hasChanged
  }
}

extension SelectorEvaluation {
  /// What has been read for one model, after what was evaluated for an earlier one.
  init(
    of node: SelectorNode, _ roots: SelectorRoots, after earlier: SelectorEvaluation?,
    stamp: UInt64
  ) {
    self.init(of: node, stamp: stamp) { Step(last: earlier?.steps[$0].present) }
    for index in steps.indices { setRead(roots.selections[index], at: index) }
  }
}
