/// The elements of a group: due, running and ended ones, without threads.
///
/// The code that runs the group follows **moves**: it runs the step of a move, reports the end, and gets the next
/// move. A concurrent group **forks** into branches, each of which follows its own moves until it **joins**.
struct GroupState: Sendable {
  /// The next action in a branch.
  enum Move: Hashable, Sendable {
    /// Dispatch this step, and report its end (`ended`).
    case run(Int)
    /// Dispatch the compensation of this step, and report its end (`compensated`).
    case compensate(Int)
    /// Begin branches of this group (`branch`).
    case fork(Int)
    /// The branch of the group is over (`join`, then `branch`).
    case join(Int)
    /// The whole group has ended.
    case end
  }

  /// The next action for a concurrent group.
  enum Branching: Hashable, Sendable {
    /// Follow this move in a new branch, and call again.
    case start(Move)
    /// A branch has to join first, or the group has ended.
    case wait
    /// All branches are over: follow this move, in the branch that forked.
    case close(Move)
  }

  enum Phase: Sendable {
    /// The element's turn has not come.
    ///
    /// Can become running; at the group's end it counts as skipped.
    case pending
    /// A running group, or a step that is about to be dispatched, or was.
    ///
    /// A group can become undoing. Both can become ended. A step can become pending, if its group was cancelled
    /// before it was dispatched.
    case running
    /// A group that compensates the steps finished in it.
    ///
    /// Can become ended.
    case undoing
    /// The final phase.
    case ended
  }

  /// The state of one element of the list.
  private struct Element {
    var phase = Phase.pending
    /// The enclosing group, and the element before this one in it.
    var parent = none
    var former = none
    /// For a concurrent group: the element to begin next, and the number that run.
    var next = none
    var branches = 0
    /// For a group: whether one of its elements has not succeeded, or was skipped.
    var hasFailed = false
    /// Whether nothing more is to start in this element.
    var isCancelled = false
  }

  private static let none = -1

  let nodes: [GroupNode]
  /// The number of steps before each element, and before the end of the list.
  private let stepsBefore: [Int]
  private var elements: [Element]
  /// The ends by element: nil for groups, and for steps that were skipped.
  private(set) var ends: [GroupStepEnd?]
  /// The place in the order of ends, by step.
  private var places: [Int]
  /// The number of steps that have ended.
  private(set) var endCount = 0
  private var cancelledCount = 0
  /// The reason why nothing more was to start in the whole group; nil for a cancellation, or if there was none.
  private(set) var cause: (any Error)?
  /// Whether the whole group was cancelled, for no such reason, before a step failed.
  private(set) var isCancelledFirst = false
  /// The steps still to be compensated, by the group that compensates them; the next one is last.
  private var undo: [Int: [Int]] = [:]
  /// The group that compensates, by the step whose compensation runs.
  private var undoing: [Int: Int] = [:]
  private var compensations: [Int: GroupStepEnd] = [:]
  /// The steps whose compensation has ended, in that order.
  private(set) var compensated: [Int] = []

  init(_ nodes: [GroupNode]) {
    self.nodes = nodes
    stepsBefore = nodes.reduce(into: [0]) { $0.append($0.last! + ($1.isStep ? 1 : 0)) }
    elements = Array(repeating: Element(), count: nodes.count)
    ends = Array(repeating: nil, count: nodes.count)
    places = Array(repeating: 0, count: nodes.count)
    // The enclosing groups of the present element, each with the last element seen in it.
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

  /// Ends a step.
  ///
  /// Returns the next move of its branch.
  mutating func ended(_ step: Int, _ end: GroupStepEnd) -> Move {
    endCount += 1
    places[step] = endCount
    ends[step] = end
    elements[step].phase = .ended
    return advance(.leave(step))
  }

  /// Skips a step that is about to be made, if its group was cancelled since its turn came.
  ///
  /// Returns the next move then.
  mutating func skipIfCancelled(_ step: Int) -> Move? {
    guard isCancelled(step), !isPlanted(.lateGroupCancel) else { return nil }
    elements[step].phase = .pending
    return advance(.leave(step))
  }

  /// Ends the compensation of a step.
  ///
  /// Returns the next move of the branch in which it ran.
  mutating func compensated(_ step: Int, _ end: GroupStepEnd) -> Move {
    compensations[step] = end
    compensated.append(step)
    return advance(.close(undoing.removeValue(forKey: step)!))
  }

  /// Begins a branch of a concurrent group, if one may begin.
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

  /// Ends a branch.
  ///
  /// - Returns: The elements to be cancelled, if the branch stops the others.
  mutating func join(_ group: Int) -> Range<Int>? {
    elements[group].branches -= 1
    guard elements[group].hasFailed, !nodes[group].continuesOnFailure else { return nil }
    return cancel(group)
  }

  /// Prevents further starts, except of compensations.
  ///
  /// - Parameter cause: The reason; nil for a cancellation. The first call's counts.
  /// - Returns: The elements to be cancelled; nil if they were cancelled before, or the whole group has ended.
  mutating func cancel(because cause: (any Error)? = nil) -> Range<Int>? {
    guard !hasEnded, let elements = cancel(0) else { return nil }
    self.cause = cause
    isCancelledFirst = cause == nil && failure(in: nodes.indices) == nil
    return elements
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

  /// Advances from a position to the next thing to do: a loop, since groups may be deep, and empty.
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

  /// Skips the rest of a group, which then can't succeed if steps are left.
  private mutating func skip(from element: Int, in group: Int) {
    if hasSteps(element..<end(of: group)) { elements[group].hasFailed = true }
  }

  private func hasSteps(_ range: Range<Int>) -> Bool {
    stepsBefore[range.lowerBound] < stepsBefore[range.upperBound]
  }

  func isSuccess(_ element: Int) -> Bool {
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

  /// Whether the steps that finished in a group are to be undone.
  private func undoes(_ group: Int) -> Bool {
    elements[group].hasFailed && (!nodes[group].continuesOnFailure || isCancelled(group))
  }

  /// Whether the enclosing group, which has failed, will undo the finished steps of both, in one order.
  private func handsOver(_ group: Int) -> Bool {
    let parent = elements[group].parent
    guard parent != Self.none else { return false }
    return !nodes[parent].continuesOnFailure || isCancelled(parent)
  }

  /// The steps to compensate, in the order in which they ended.
  private func stepsToUndo(in group: Int) -> [Int] {
    let steps = (group..<end(of: group)).filter { index in
      guard let undo = nodes[index].undo, let end = ends[index], end.result != nil,
        compensations[index] == nil
      else { return false }
      return isSuccess(index) || undo.ifBegun && end.hasBegun
    }
    let inOrder = steps.sorted { places[$0] < places[$1] }
    return isPlanted(.compensatedInOrder) ? inOrder.reversed() : inOrder
  }

  // MARK: Results

  /// The results of the elements before a step.
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

  /// The results from which a step's compensation is made.
  func results(of step: Int) -> [DispatchResult] {
    ends[step]?.result.map { [$0] } ?? []
  }

  func result(of step: Int) -> ActionStepResult? {
    nodes[step].step.map {
      ActionStepResult(
        callSite: $0.callSite, end: ends[step],
        compensation: compensations[step].map(ActionStepResult.Compensation.init))
    }
  }

  /// The steps whose compensations the dispatcher has refused, because it was shut down.
  var refusedCompensations: [ActionStepResult] {
    compensated.filter { compensations[$0]?.isRefused == true }.sorted().compactMap(result)
  }

  /// The steps whose compensations have failed for another reason.
  var failedCompensations: [ActionStepResult] {
    compensated.filter { step in
      guard let end = compensations[step], end.error != nil else { return false }
      return !end.isRefused
    }.sorted().compactMap(result)
  }

  /// The step of a range that was the first, in time, not to finish.
  func failure(in range: Range<Int>) -> Int? {
    range.filter { ends[$0]?.error != nil }.min { places[$0] < places[$1] }
  }
}
