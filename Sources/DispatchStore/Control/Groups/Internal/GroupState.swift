/// What of a group is due, runs and has ended, without threads.
///
/// Whoever runs the group follows **moves**: it runs the step of a move, reports the end, and gets the next move. A
/// concurrent group **forks** into branches, each of which follows its own moves until it **joins**.
struct GroupState: Sendable {
  /// What to do next in a branch.
  enum Move: Hashable, Sendable {
    /// Dispatch this step, and report its end (`ended`).
    case run(Int)
    /// Dispatch the compensation of this step, and report its end (`compensated`).
    case compensate(Int)
    /// Begin branches of this group (`branch`).
    case fork(Int)
    /// This branch of the group is over (`join`, then `branch`).
    case join(Int)
    /// The whole group has ended.
    case end
  }

  /// What to do next about a concurrent group.
  enum Branching: Hashable, Sendable {
    /// Follow this move in a new branch, and call again.
    case start(Move)
    /// A branch has to join first, or the group has ended.
    case wait
    /// All branches are over: follow this move, in what was the branch before the group.
    case close(Move)
  }

  enum Phase: Sendable {
    /// Can become running. At the end of the whole: skipped.
    case pending
    /// Of a step: about to be dispatched, or dispatched. Can become undoing (a group), ended, or pending (a step, where its
    /// group was cancelled before it was dispatched).
    case running
    /// Compensates what finished in it. Can become ended.
    case undoing
    /// Nothing follows.
    case ended
  }

  /// What is known of an element of the list.
  private struct Element {
    var phase = Phase.pending
    /// The group that it is in, and the element before it there.
    var parent = none
    var former = none
    /// Of a concurrent group: the element to begin next, and how many run.
    var next = none
    var branches = 0
    /// Of a group: whether one of its elements has not succeeded, or was skipped.
    var hasFailed = false
    /// Whether nothing more is to start in it.
    var isCancelled = false
  }

  private static let none = -1

  let nodes: [GroupNode]
  /// By element, and at the end of all: how many steps are before it.
  private let stepsBefore: [Int]
  private var elements: [Element]
  private var ends: [GroupStepEnd?]
  /// By step: at which place it ended.
  private var places: [Int]
  /// How many steps have ended.
  private(set) var endCount = 0
  private var cancelledCount = 0
  /// By group that compensates: its steps still to be compensated, the next one last.
  private var undo: [Int: [Int]] = [:]
  /// By step whose compensation runs: the group that compensates it.
  private var undoing: [Int: Int] = [:]
  private var compensations: [Int: GroupStepEnd] = [:]
  /// The steps whose compensation has ended, in that order.
  private var compensated: [Int] = []

  init(_ nodes: [GroupNode]) {
    self.nodes = nodes
    var (steps, stepsBefore) = (0, [0])
    stepsBefore.reserveCapacity(nodes.count + 1)
    for node in nodes {
      if node.isStep { steps += 1 }
      stepsBefore.append(steps)
    }
    self.stepsBefore = stepsBefore
    elements = Array(repeating: Element(), count: nodes.count)
    ends = Array(repeating: nil, count: nodes.count)
    places = Array(repeating: 0, count: nodes.count)
    // The groups around the present element, each with the last element seen in it.
    var open: [(group: Int, last: Int)] = []
    for index in nodes.indices {
      while let group = open.last?.group, index >= group + nodes[group].size { open.removeLast() }
      if let (group, last) = open.last {
        elements[index].parent = group
        elements[index].former = last
        open[open.count - 1].last = index
      }
      if !nodes[index].isStep { open.append((index, Self.none)) }
    }
  }

  /// Whether the whole group has ended.
  var hasEnded: Bool { elements[0].phase == .ended }

  // MARK: Moves

  /// The first move.
  mutating func begin() -> Move {
    advance(.enter(0))
  }

  /// A step has ended; the next move of its branch.
  mutating func ended(_ step: Int, _ end: GroupStepEnd) -> Move {
    endCount += 1
    places[step] = endCount
    ends[step] = end
    elements[step].phase = .ended
    return advance(.leave(step))
  }

  /// A step is about to be made: where its group was cancelled since its turn came, it is skipped; the next move then.
  mutating func skipIfCancelled(_ step: Int) -> Move? {
    guard isCancelled(step), !isPlanted(.lateGroupCancel) else { return nil }
    elements[step].phase = .pending
    return advance(.leave(step))
  }

  /// The compensation of a step has ended; the next move of the branch in which it ran.
  mutating func compensated(_ step: Int, _ end: GroupStepEnd) -> Move {
    compensations[step] = end
    compensated.append(step)
    return advance(.close(undoing.removeValue(forKey: step)!))
  }

  /// Begins a branch of a concurrent group, where one may begin.
  mutating func branch(of group: Int) -> Branching {
    guard elements[group].phase == .running else { return .wait }
    let next = elements[group].next
    if mayContinue(group), next < end(of: group), elements[group].branches < nodes[group].limit! {
      elements[group].branches += 1
      elements[group].next += nodes[next].size
      return .start(advance(.enter(next)))
    }
    guard elements[group].branches == 0 else { return .wait }
    skip(from: next, in: group)
    return .close(advance(.close(group)))
  }

  /// A branch is over.
  ///
  /// - Returns: The elements to be cancelled, where the branch stops the others.
  mutating func join(_ group: Int) -> Range<Int>? {
    elements[group].branches -= 1
    guard elements[group].hasFailed, !nodes[group].continuesOnFailure else { return nil }
    return cancel(group)
  }

  /// Starts nothing more, but for compensations.
  ///
  /// - Returns: The elements to be cancelled; nil where they were cancelled before, or all has ended.
  mutating func cancel() -> Range<Int>? {
    hasEnded ? nil : cancel(0)
  }

  private mutating func cancel(_ group: Int) -> Range<Int>? {
    guard !isCancelled(group) else { return nil }
    elements[group].isCancelled = true
    cancelledCount += 1
    return group..<end(of: group)
  }

  /// Whether nothing more is to start in an element.
  func isCancelled(_ element: Int) -> Bool {
    guard cancelledCount > 0 else { return false }
    var next = element
    while next != Self.none {
      if elements[next].isCancelled { return true }
      next = elements[next].parent
    }
    return false
  }

  private enum Position {
    /// The element's turn has come.
    case enter(Int)
    /// All elements of the group have ended, or are skipped.
    case close(Int)
    /// The element has ended, or is skipped.
    case leave(Int)
  }

  /// Goes on from a position to where there is something to do: a loop, since groups may be deep, and empty.
  private mutating func advance(_ position: Position) -> Move {
    var position = position
    while true {
      switch position {
      case .enter(let element):
        if element != 0, isCancelled(element) {
          position = .leave(element)
          continue
        }
        elements[element].phase = .running
        if nodes[element].isStep { return .run(element) }
        elements[element].next = element + 1
        if nodes[element].size == 1 {
          position = .close(element)
        } else if nodes[element].limit != nil {
          return .fork(element)
        } else {
          position = .enter(element + 1)
        }
      case .close(let group):
        if let step = nextToUndo(in: group) { return .compensate(step) }
        elements[group].phase = .ended
        position = .leave(group)
      case .leave(let element):
        let parent = elements[element].parent
        if parent == Self.none { return .end }
        if !isSuccess(element) { elements[parent].hasFailed = true }
        if nodes[parent].limit != nil { return .join(parent) }
        let next = element + nodes[element].size
        if next < end(of: parent), mayContinue(parent) {
          position = .enter(next)
        } else {
          skip(from: next, in: parent)
          position = .close(parent)
        }
      }
    }
  }

  private func end(of group: Int) -> Int { group + nodes[group].size }

  /// Whether a group may begin a further element.
  private func mayContinue(_ group: Int) -> Bool {
    (nodes[group].continuesOnFailure || !elements[group].hasFailed) && !isCancelled(group)
  }

  /// What is left of a group will not begin, so that it can't succeed where there are steps.
  private mutating func skip(from element: Int, in group: Int) {
    if hasSteps(element..<end(of: group)) { elements[group].hasFailed = true }
  }

  private func hasSteps(_ range: Range<Int>) -> Bool {
    stepsBefore[range.lowerBound] < stepsBefore[range.upperBound]
  }

  private func isSuccess(_ element: Int) -> Bool {
    guard elements[element].phase == .ended else {
      return !hasSteps(element..<end(of: element))
    }
    return nodes[element].isStep ? ends[element]?.error == nil : !elements[element].hasFailed
  }

  // MARK: Compensations

  /// The step to compensate next in a group whose elements have ended.
  private mutating func nextToUndo(in group: Int) -> Int? {
    if elements[group].phase == .running {
      guard undoes(group), !handsOver(group) else { return nil }
      elements[group].phase = .undoing
      undo[group] = stepsToUndo(in: group)
    }
    guard let step = undo[group]?.popLast() else {
      undo[group] = nil
      return nil
    }
    undoing[step] = group
    return step
  }

  /// Whether what happened in a group is to be undone.
  private func undoes(_ group: Int) -> Bool {
    elements[group].hasFailed && (!nodes[group].continuesOnFailure || isCancelled(group))
  }

  /// Whether the group around this one, which has failed, will undo what finished in both: so that all of it is
  /// undone in one order.
  private func handsOver(_ group: Int) -> Bool {
    let parent = elements[group].parent
    guard parent != Self.none else { return false }
    return !nodes[parent].continuesOnFailure || isCancelled(parent)
  }

  /// In the order in which they ended.
  private func stepsToUndo(in group: Int) -> [Int] {
    let steps = (group..<end(of: group)).filter { index in
      guard let step = nodes[index].step, step.compensation != nil, let end = ends[index],
        end.result != nil, compensations[index] == nil
      else { return false }
      return isSuccess(index) || step.isUndoneIfBegun && end.hasBegun
    }
    let inOrder = steps.sorted { places[$0] < places[$1] }
    return isPlanted(.compensatedInOrder) ? inOrder.reversed() : inOrder
  }

  // MARK: Results

  /// What the elements before a step have led to.
  func results(before step: Int) -> [DispatchResult] {
    var element = step
    while true {
      let (parent, former) = (elements[element].parent, elements[element].former)
      if parent == Self.none { return [] }
      if nodes[parent].limit == nil, former != Self.none {
        return (former..<former + nodes[former].size).compactMap { ends[$0]?.result }
      }
      element = parent
    }
  }

  /// What a step's compensation is made from.
  func results(of step: Int) -> [DispatchResult] {
    ends[step]?.result.map { [$0] } ?? []
  }

  /// All that is known, at the end.
  var record: GroupRecord {
    GroupRecord(
      nodes: nodes, ends: ends, places: places, compensations: compensations,
      compensated: compensated,
      successes: nodes.indices.map(isSuccess))
  }
}
