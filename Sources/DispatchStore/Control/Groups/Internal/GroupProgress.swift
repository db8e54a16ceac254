/// The state of a group behind its lock, with the progress reports of its ends.
final class GroupProgress: Sendable {
  typealias Move = GroupState.Move

  /// Gets the number of ended steps, and of all steps.
  typealias Report = @Sendable (_ ended: Int, _ total: Int) -> Void

  /// Calls a report as code of the group, in its context.
  typealias Reporting = (_ report: () -> Void) -> Void

  let nodes: [GroupNode]
  private let stepCount: Int
  private let guarded: Locked<GroupState>
  /// The number of ended steps after each end, and then nil once the whole group has ended.
  private let notices = Mailbox<Int?>()
  /// Released once all is reported, since a handle of the group may live longer.
  private let report: Locked<Report?>
  private let isReported: Bool

  init(of group: ActionGroup, _ report: Report?) {
    nodes = group.nodes
    stepCount = group.stepCount
    guarded = Locked(GroupState(group.nodes))
    (self.report, isReported) = (Locked(report), report != nil)
  }

  func withState<Result>(_ body: (inout GroupState) -> Result) -> Result {
    yieldPoint(.advanceGroup)
    return guarded.withLock(body)
  }

  /// A copy of the state at the end, or so far.
  var state: GroupState { guarded.withLock { $0 } }

  /// Makes the work that a step, or its compensation, dispatches.
  func make(_ index: Int, compensates: Bool) -> (step: GroupStep, made: GroupStep.Made) {
    if compensates {
      let compensation = nodes[index].undo!.compensation
      return (compensation, compensation.make { withState { $0.results(of: index) } })
    }
    let step = nodes[index].step.unsafelyUnwrapped
    return (step, step.make { withState { $0.results(before: index) } })
  }

  /// Ends a step, or its compensation, and reports it.
  ///
  /// - Returns: The next move, and whether the whole group has ended, and all is reported; that is true for one caller.
  func end(
    _ index: Int, compensates: Bool, _ end: GroupStepEnd, by perform: Reporting
  ) -> (move: Move, isOver: Bool) {
    let (move, reports) = withState { state -> (Move, Bool) in
      if compensates { return (state.compensated(index, end), false) }
      let move = state.ended(index, end)
      // Under the lock, so that the numbers come in order.
      return (move, isReported && notices.put(state.endCount))
    }
    return (move, reports && deliver(by: perform))
  }

  /// Notes that the whole group has ended; returns whether all is reported, which another thread may do later.
  func end(by perform: Reporting) -> Bool { notices.put(nil) && deliver(by: perform) }

  /// Reports each end once, in order, also those that others leave to this thread meanwhile.
  private func deliver(by perform: Reporting) -> Bool {
    let report = report.withLock { $0 }
    var isOver = false
    notices.deliver { count in
      if let count, let report { perform { report(count, stepCount) } }
      isOver = count == nil
    }
    if isOver { _ = self.report.exchange(nil) }
    return isOver
  }
}
