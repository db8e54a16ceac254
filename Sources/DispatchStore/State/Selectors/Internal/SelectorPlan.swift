/// The evaluation order of a selector and the selectors that it is combined from: each once, after its inputs.
struct SelectorPlan {
  /// The selectors in order, without the target, whose node owns this plan.
  private let others: [SelectorNode]
  /// The places of each selector's inputs; the target's are last.
  let inputs: [[Int]]
  /// Whether the selector at a place has no inputs, and so reads the model.
  let isRoot: [Bool]
  /// The place of the target: the selector that this plan evaluates.
  var target: Int { others.count }
  var count: Int { others.count + 1 }

  init(of inputs: [SelectorNode]) {
    var (others, indices): ([SelectorNode], [[Int]]) = ([], [])
    var places: [UInt64: Int] = [:]
    for input in inputs {
      for index in 0..<input.plan.count {
        let node = input.plan.node(index, of: input)
        guard places[node.id] == nil else { continue }
        places[node.id] = others.count
        indices.append(
          input.plan.inputs[index].map { places[input.plan.node($0, of: input).id]! })
        others.append(node)
      }
    }
    indices.append(inputs.map { places[$0.id]! })
    (self.others, self.inputs) = (others, indices)
    isRoot = indices.map(\.isEmpty)
  }

  /// - Parameter owner: The node that has this plan.
  func node(_ index: Int, of owner: SelectorNode) -> SelectorNode {
    index == others.count ? owner : others[index]
  }
}
