/// The state of a group behind its lock, with the progress reports of its ends.
final class GroupProgress: Sendable {
  typealias Move = GroupState.Move

  /// Gets the number of ended steps, and of all steps.
  typealias Report = @Sendable (_ ended: Int, _ total: Int) -> Void

  let nodes: [GroupNode]
  private let stepCount: Int
  private let report: Report?
  private let guarded: Locked<Guarded>

  private enum Notice {
    case report(Int)
    case finish
    case none
  }

  private struct Guarded {
    var state: GroupState
    /// The number of steps whose end was reported, and whether a thread reports.
    var reported = 0
    var isReporting = false
    /// Whether the whole group has ended, and whether a caller was told so.
    var isOver = false
    var isFinished = false

    mutating func nextNotice(_ isOver: Bool, isMine: Bool, reports: Bool) -> Notice {
      self.isOver = self.isOver || isOver
      if isReporting, !isMine { return .none }
      isReporting = reports && reported < state.endCount
      if isReporting {
        reported += 1
        return .report(reported)
      }
      if !self.isOver || isFinished { return .none }
      isFinished = true
      return .finish
    }
  }

  init(of group: ActionGroup, _ report: Report?) {
    nodes = group.nodes
    stepCount = group.stepCount
    self.report = report
    guarded = Locked(Guarded(state: GroupState(group.nodes)))
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
    withState { $0.end(index, compensates: compensates, end) }
  }

  /// Reports each end once, in order; a thread leaves that to one that reports already.
  ///
  /// - Parameter isOver: Whether the whole group has ended.
  /// - Returns: Whether the whole group has ended, and all is reported; true for one caller.
  func reportEnds(isOver: Bool = false) -> Bool {
    var isMine = false
    while true {
      switch guarded.withLock({ $0.nextNotice(isOver, isMine: isMine, reports: report != nil) }) {
      case .report(let count): report?(count, stepCount)
      case .finish: return true
      case .none: return false
      }
      isMine = true
    }
  }
}

extension GroupState {
  fileprivate mutating func end(
    _ index: Int, compensates: Bool, _ end: GroupStepEnd
  ) -> Move {
    compensates ? compensated(index, end) : ended(index, end)
  }
}
