/// The selections of a plan's roots (selectors that read the model), each at its place in the plan.
struct SelectorRoots: Sendable {
  private(set) var selections: [Selection?] = []

  /// Reads the model; returns whether a root has changed, as far as the bytes show.
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
