/// A selector and those that it is combined from, on their way to the values that they have for one model.
///
/// First it reads the model, where that is at hand; then it computes, without the model, without a lock.
struct SelectorEvaluation {
  /// One selector of the plan.
  struct Step {
    /// What it was before; nil where nothing is known of that.
    var last: Selection?
    /// What it is for this model.
    var present: Selection?
    /// Whether `present` has to be found out.
    fileprivate(set) var isNeeded = true
    /// Whether its closure was called for that.
    fileprivate(set) var isComputed = false
  }

  let node: SelectorNode
  private(set) var steps: [Step]
  /// Of what is computed now.
  private let stamp: UInt64
  private var isFinished = false

  /// Everything is needed, and nothing is known.
  init(of node: SelectorNode) {
    self.init(of: node, stamp: 0) { _ in Step() }
  }

  /// What is present already is not needed, nor is that from which it alone was computed.
  ///
  /// - Parameters:
  ///   - stamp: Not used before for any of these selectors, where selections are compared later.
  ///   - known: What is known of the selector at a place of the plan.
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

  /// Calls what reads the model; in its store's exclusive section, where it has one.
  mutating func read(_ model: UnsafeRawPointer) {
    let plan = node.plan
    for index in steps.indices where plan.isRoot[index] && steps[index].isNeeded {
      steps[index].present = plan.node(index, of: node).read(
        model, last: steps[index].last, stamp: stamp)
      steps[index].isComputed = true
    }
  }

  /// What was read at a place, where that one reads the model.
  mutating func setRead(_ selection: Selection?, at index: Int) {
    if let selection { steps[index].present = selection }
  }

  /// Computes what has changed, once; returns the selection of the selector itself.
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

/// The values of a selector's inputs, one after the other.
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
