import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// What of a group is due, runs and has ended, without threads.
struct GroupStateTests {
  private func moves(_ group: ActionGroup) -> (state: GroupState, first: GroupState.Move) {
    var state = GroupState(group.nodes)
    let first = state.begin()
    return (state, first)
  }

  @Test func aConcurrentGroupBeginsAsManyBranchesAsItsLimit() {
    var (state, first) = moves(
      ActionGroup(.concurrent(limit: 2)) {
        for _ in 0..<3 { Ping() }
      })
    #expect(first == .fork(0))
    #expect(state.branch(of: 0) == .start(.run(1)))
    #expect(state.branch(of: 0) == .start(.run(2)))
    #expect(state.branch(of: 0) == .wait)
    #expect(state.ended(2, GroupStepEnd(withoutDispatch: nil)) == .join(0))
    #expect(state.branch(of: 0) == .wait)
    #expect(state.join(0) == nil)
    #expect(state.branch(of: 0) == .start(.run(3)))
    for step in [1, 3] {
      #expect(state.ended(step, GroupStepEnd(withoutDispatch: nil)) == .join(0))
      #expect(state.join(0) == nil)
    }
    #expect(state.branch(of: 0) == .close(.end))
    #expect(state.branch(of: 0) == .wait)
  }

  @Test func aFailureCancelsTheBranchesBesideItOnce() {
    var (state, _) = moves(
      ActionGroup(.concurrent) {
        for _ in 0..<3 { Ping() }
      })
    for step in 1...3 { #expect(state.branch(of: 0) == .start(.run(step))) }
    _ = state.ended(2, GroupStepEnd(withoutDispatch: PingFailure()))
    #expect(state.join(0) == 0..<4)
    _ = state.ended(1, GroupStepEnd(withoutDispatch: CancellationError()))
    #expect(state.join(0) == nil)
    _ = state.ended(3, GroupStepEnd(withoutDispatch: nil))
    #expect(state.join(0) == nil)
    #expect(state.branch(of: 0) == .close(.end))
    let result = ActionGroupResult(state)
    #expect(result.error is PingFailure)
    #expect(result.steps.map { "\($0)" } == ["cancelled", "failed: PingFailure()", "finished"])
  }

  @Test func cancelledBeforeItBeginsItSkipsAll() {
    var state = GroupState(
      ActionGroup {
        Ping()
        ActionGroup(.concurrent) { Ping() }
      }.nodes)
    #expect(state.cancel() == 0..<4)
    #expect(state.cancel() == nil)
    #expect(state.begin() == .end)
    let result = ActionGroupResult(state)
    #expect(result.error is CancellationError)
    #expect("\(result)" == "skipped, skipped")
    #expect(result.failure == nil)
  }

  @Test func aHundredThousandEmptyGroupsTakeNoStack() {
    let group = ActionGroup {
      for _ in 0..<100_000 {
        ActionGroup(.concurrent) {}
      }
    }
    var state = GroupState(group.nodes)
    #expect(state.begin() == .end)
    #expect(ActionGroupResult(state).isSuccess)
  }

  /// Trees, outcomes and orders that are drawn from seeds, run without threads.
  @Test func keepsItsPromisesInDrawnTrees() {
    for seed in 0..<UInt64(Load.count(4_000, long: 100_000)) {
      var random = SeededGenerator(seed: seed)
      let tree = DrawnTree.draw(&random)
      var run = DrawnRun(tree, random)
      run.runToEnd()
      let faults = run.faults
      #expect(faults.isEmpty, "seed \(seed): \(faults)\n\(tree)")
      if !faults.isEmpty { return }
    }
  }
}

/// A group, or a step, as it was drawn.
private indirect enum DrawnTree: CustomStringConvertible {
  case step(isCompensated: Bool)
  case group(limit: Int?, continues: Bool, [DrawnTree])

  static func draw(_ random: inout SeededGenerator) -> DrawnTree {
    let mayContinue = Bool.random(using: &random)
    var left = 24
    return draw(&random, depth: 0, mayContinue, &left)
  }

  private static func draw(
    _ random: inout SeededGenerator, depth: Int, _ mayContinue: Bool, _ left: inout Int
  ) -> DrawnTree {
    left -= 1
    if depth > 0, depth == 4 || left < 0 || Int.random(in: 0..<10, using: &random) < 6 {
      return .step(isCompensated: Int.random(in: 0..<4, using: &random) > 0)
    }
    let limit = [nil, 1, 2, Int.max].randomElement(using: &random)!
    let continues = mayContinue && Int.random(in: 0..<3, using: &random) == 0
    let elements = (0..<Int.random(in: 0...5, using: &random)).map { _ in
      draw(&random, depth: depth + 1, mayContinue, &left)
    }
    return .group(limit: limit, continues: continues, elements)
  }

  var group: ActionGroup {
    guard case .group(let limit, let continues, let elements) = self else { fatalError() }
    let order = limit.map(ActionGroup.Order.concurrent) ?? .sequence
    let group = ActionGroup(order) {
      for element in elements {
        if case .step(let isCompensated) = element {
          if isCompensated { ActionStep(Ping()).compensated(by: Ping()) } else { Ping() }
        } else {
          element.group
        }
      }
    }
    return continues ? group.continuingOnFailure() : group
  }

  var description: String {
    switch self {
    case .step(let isCompensated): isCompensated ? "c" : "s"
    case .group(let limit, let continues, let elements):
      (limit.map { $0 == .max ? "*" : "\($0)" } ?? "") + (continues ? "~" : "") + "\(elements)"
    }
  }
}

/// Follows a group's moves in a drawn order, and checks them against what the tree says.
private struct DrawnRun {
  private let nodes: [GroupNode]
  private var state: GroupState
  private var random: SeededGenerator
  /// What may happen next: a step ends, or a thread goes on with a group.
  private var pending: [GroupState.Move] = []
  private var begun: Set<Int> = []
  private var finished: [Int] = []
  private var ended: Set<Int> = []
  private var undone: [Int] = []
  private var isCancelled = false
  private var endCount = 0
  private(set) var faults: [String] = []

  init(_ tree: DrawnTree, _ random: SeededGenerator) {
    nodes = tree.group.nodes
    state = GroupState(nodes)
    self.random = random
  }

  mutating func runToEnd() {
    follow(state.begin())
    while !pending.isEmpty {
      if Int.random(in: 0..<40, using: &random) == 0, state.cancel() != nil { isCancelled = true }
      let next = pending.remove(at: Int.random(in: pending.indices, using: &random))
      switch next {
      case .run(let step): end(step)
      case .compensate(let step): follow(state.compensated(step, drawnEnd()))
      case .fork(let group): fork(group)
      case .join, .end: break
      }
    }
    checkEnd()
  }

  private mutating func end(_ step: Int) {
    let end = drawnEnd()
    ended.insert(step)
    if end.error == nil { finished.append(step) }
    follow(state.ended(step, end))
  }

  private mutating func drawnEnd() -> GroupStepEnd {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: GroupStepEnd(withoutDispatch: PingFailure())
    case 1 where isCancelled: GroupStepEnd(withoutDispatch: CancellationError())
    default: GroupStepEnd(DispatchResult(dispatchID: .make(on: .current)))
    }
  }

  private mutating func follow(_ move: GroupState.Move) {
    switch move {
    case .run(let step):
      checkStart(of: step)
      pending.append(move)
    case .compensate(let step):
      if undone.contains(step) { faults.append("\(step) is compensated twice") }
      if !finished.contains(step) { faults.append("\(step) is compensated, and did not finish") }
      undone.append(step)
      pending.append(move)
    case .fork:
      pending.append(move)
    case .join(let group):
      _ = state.join(group)
      pending.append(.fork(group))
    case .end:
      endCount += 1
    }
  }

  private mutating func fork(_ group: Int) {
    switch state.branch(of: group) {
    case .start(let move):
      pending.append(.fork(group))
      follow(move)
    case .close(let move): follow(move)
    case .wait: break
    }
  }

  private mutating func checkStart(of step: Int) {
    if !begun.insert(step).inserted { faults.append("\(step) begins twice") }
    if isCancelled { faults.append("\(step) begins after the cancellation") }
    if !undone.isEmpty, !nodes.contains(where: \.continuesOnFailure) {
      faults.append("\(step) begins after compensations")
    }
    for group in nodes.indices where !nodes[group].isStep && range(of: group).contains(step) {
      let before = elements(of: group).filter { $0 < step && !range(of: $0).contains(step) }
      if let limit = nodes[group].limit {
        let running = before.filter { !hasEnded($0) }
        if running.count >= limit { faults.append("\(step) exceeds the limit of \(group)") }
      } else {
        for element in before where !hasEnded(element) {
          faults.append("\(step) begins before \(element) has ended")
        }
        for element in before where !nodes[group].continuesOnFailure && !hasFinished(element) {
          faults.append("\(step) begins after \(element), which has failed")
        }
      }
    }
  }

  private func range(of element: Int) -> Range<Int> { element..<element + nodes[element].size }

  private func elements(of group: Int) -> [Int] {
    var (elements, next) = ([Int](), group + 1)
    while next < range(of: group).upperBound {
      elements.append(next)
      next += nodes[next].size
    }
    return elements
  }

  private func steps(in element: Int) -> [Int] { range(of: element).filter { nodes[$0].isStep } }

  /// Whether all that began in it has ended.
  private func hasEnded(_ element: Int) -> Bool {
    steps(in: element).allSatisfy { !begun.contains($0) || ended.contains($0) }
  }

  private func hasFinished(_ element: Int) -> Bool {
    steps(in: element).allSatisfy(finished.contains)
  }

  private mutating func checkEnd() {
    if endCount != 1 { faults.append("it ended \(endCount) times") }
    let result = ActionGroupResult(state)
    if result.isSuccess != hasFinished(0) { faults.append("the result is \(result)") }
    for (step, outcome) in zip(steps(in: 0), result.steps) {
      let isRight =
        begun.contains(step)
        ? finished.contains(step) == outcome.outcome.isFinished : outcome.outcome.isSkipped
      if !isRight { faults.append("\(step) is \(outcome)") }
    }
    let undoing = nodes.indices.filter { group in
      let stops = !nodes[group].continuesOnFailure || group == 0 && isCancelled
      return !nodes[group].isStep && stops && !hasFinished(group)
    }
    let expected = finished.filter { step in
      nodes[step].undo != nil && undoing.contains { range(of: $0).contains(step) }
    }
    if Set(undone) != Set(expected) { faults.append("compensated: \(undone), not \(expected)") }
    if !nodes.contains(where: \.continuesOnFailure), undone != expected.reversed() {
      faults.append("compensated in the order \(undone), not \(Array(expected.reversed()))")
    }
  }
}
