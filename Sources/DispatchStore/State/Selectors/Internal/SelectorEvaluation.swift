/// An evaluation of a selector, and of the selectors that it is combined from, for one model.
///
/// First the model is read. Then the combined values are computed, without the model and without a lock.
struct SelectorEvaluation {
  /// A selector of the plan.
  struct Step {
    /// The last known selection; nil if there is none.
    var last: Selection?
    /// The selection for this model.
    var present: Selection?
    /// Whether `present` has to be determined.
    fileprivate(set) var isNeeded = true
    /// Whether the selector's closure was called for `present`.
    fileprivate(set) var isComputed = false
  }

  let node: SelectorNode
  private(set) var steps: [Step]
  /// The stamp of newly computed selections.
  private let stamp: UInt64
  private var isFinished = false

  /// Evaluates everything, from no known values.
  init(of node: SelectorNode) {
    self.init(of: node, stamp: 0) { _ in Step() }
  }

  /// Evaluates only the selectors that are not known, and the inputs that these need.
  ///
  /// - Parameters:
  ///   - stamp: A stamp that none of these selectors has used before, if selections are compared later.
  ///   - known: Returns the known selections for a place in the plan.
  init(of node: SelectorNode, stamp: UInt64, known: (Int) -> Step) {
    self.node = node
    self.stamp = stamp
    let plan = node.plan
    steps = (0..<plan.count).map(known)
    for index in steps.indices { steps[index].isNeeded = false }
    steps[plan.target].isNeeded = true
    for index in steps.indices.reversed() where steps[index].isNeeded {
      guard steps[index].present == nil else {
        steps[index].isNeeded = false
        continue
      }
      for input in plan.inputs[index] { steps[input].isNeeded = true }
    }
  }

  /// Begins from the roots read for one model, and from the evaluation for an earlier model.
  init(
    of node: SelectorNode, _ roots: SelectorRoots, after earlier: SelectorEvaluation?,
    stamp: UInt64
  ) {
    self.init(of: node, stamp: stamp) { Step(last: earlier?.steps[$0].present) }
    for (index, root) in roots.selections.enumerated() where node.plan.isRoot[index] {
      steps[index].present = root
    }
  }

  /// Calls the closures that read the model; in the exclusive section, if the model is in a store.
  mutating func read(_ model: UnsafeRawPointer) {
    let plan = node.plan
    for index in steps.indices where plan.isRoot[index] && steps[index].isNeeded {
      steps[index].present = plan.node(index, of: node).read(
        model, last: steps[index].last, stamp: stamp)
      steps[index].isComputed = true
    }
  }

  /// Computes the changed selections, once; returns the selection of the target selector.
  mutating func finish() -> Selection {
    let plan = node.plan
    if !isFinished {
      for index in steps.indices where steps[index].isNeeded {
        finish(plan.node(index, of: node), at: index)
      }
      for index in steps.indices { steps[index].last = nil }
      isFinished = true
    }
    return steps[plan.target].present!
  }

  private mutating func finish(_ node: SelectorNode, at index: Int) {
    guard self.node.plan.isRoot[index] else { return compute(node, at: index) }
    guard let last = steps[index].last else { return }
    steps[index].present = node.settle(steps[index].present!, last: last)
  }

  private mutating func compute(_ node: SelectorNode, at index: Int) {
    let inputs = SelectedInputs(steps, at: self.node.plan.inputs[index])
    if let last = steps[index].last, inputs.haveStamps(last.inputs) {
      steps[index].present = last
      return
    }
    let selection = node.compute(inputs, stamp: stamp)
    steps[index].present = steps[index].last.map { node.settle(selection, last: $0) } ?? selection
    steps[index].isComputed = true
  }
}

/// The values of a selector's inputs, in order.
struct SelectedInputs {
  private let steps: [SelectorEvaluation.Step]
  private let places: [Int]
  private var position = 0

  init(_ steps: [SelectorEvaluation.Step], at places: [Int]) {
    self.steps = steps
    self.places = places
  }

  func haveStamps(_ stamps: [UInt64]) -> Bool {
    stamps.elementsEqual(places.lazy.map { steps[$0].present!.stamp })
  }

  var stamps: [UInt64] { places.map { steps[$0].present!.stamp } }

  mutating func next<Input>(_ type: Input.Type) -> Input {
    defer { position += 1 }
    return unsafeDowncast(steps[places[position]].present!, to: TypedSelection<Input>.self).value
  }
}
