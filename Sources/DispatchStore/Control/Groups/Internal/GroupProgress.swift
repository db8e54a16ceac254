/// The state of a group behind its lock, with the progress reports of its ends.
final class GroupProgress: Sendable {
  typealias Move = GroupState.Move

  /// Gets the number of ended steps, and of all steps.
  typealias Report = @Sendable (_ ended: Int, _ total: Int) -> Void

  let nodes: [GroupNode]
  private let stepCount: Int
  private let guarded: Locked<Guarded>

  private enum Notice {
    case report(Report, Int)
    /// With the closure, to be released outside of the lock.
    case finish(Report?)
    case none
  }

  private struct Guarded {
    var state: GroupState
    /// Nil also once all is reported: a handle of the group may live longer.
    var report: Report?
    /// The number of steps whose end was reported, and whether a thread reports.
    var reported = 0
    var isReporting = false
    /// Whether the whole group has ended, and whether a caller was told so.
    var isOver = false
    var isFinished = false

    mutating func nextNotice(_ isOver: Bool, isMine: Bool) -> Notice {
      self.isOver = self.isOver || isOver
      if isReporting, !isMine { return .none }
      isReporting = report != nil && reported < state.endCount
      if isReporting, let report {
        reported += 1
        return .report(report, reported)
      }
      if !self.isOver || isFinished { return .none }
      isFinished = true
      return .finish(report.take())
    }
  }

  init(of group: ActionGroup, _ report: Report?) {
    nodes = group.nodes
    stepCount = group.stepCount
    guarded = Locked(Guarded(state: GroupState(group.nodes), report: report))
  }

  func withState<Result>(_ body: (inout GroupState) -> Result) -> Result {
    yieldPoint(.advanceGroup)
    return guarded.withLock { body(&$0.state) }
  }

  /// A copy of the state at the end, or so far.
  var state: GroupState { guarded.withLock(\.state) }

  /// Makes the work that a step, or its compensation, dispatches.
  func make(_ index: Int, compensates: Bool) -> (step: GroupStep, made: GroupStep.Made) {
    let step = nodes[index].step.unsafelyUnwrapped
    guard compensates else {
      return (step, step.make { withState { $0.results(before: index) } })
    }
    let compensation = step.compensation.unsafelyUnwrapped
    return (compensation, compensation.make { withState { $0.results(of: index) } })
  }

  /// Ends a step, or its compensation.
  ///
  /// Returns the next move.
  func end(_ index: Int, compensates: Bool, _ end: GroupStepEnd) -> Move {
    withState { compensates ? $0.compensated(index, end) : $0.ended(index, end) }
  }

  /// Reports each end once, in order; a thread leaves that to one that reports already.
  ///
  /// - Parameter isOver: Whether the whole group has ended.
  /// - Returns: Whether the whole group has ended, and all is reported; true for one caller.
  func reportEnds(isOver: Bool = false) -> Bool {
    var isMine = false
    while true {
      switch guarded.withLock({ $0.nextNotice(isOver, isMine: isMine) }) {
      case .report(let report, let count): report(count, stepCount)
      case .finish: return true
      case .none: return false
      }
      isMine = true
    }
  }
}
