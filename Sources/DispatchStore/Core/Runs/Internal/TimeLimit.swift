/// A dispatch's time limit, guarded by the lock of its details.
struct TimeLimit {
  let deadline: Deadline
  /// The clock of the dispatcher, also after the end.
  private let clock: DispatcherClock
  /// The dispatcher, retained until the end, since nothing else may retain it while the dispatch waits.
  var dispatcher: Dispatcher?
  /// Whether the dispatch ends at its deadline without waiting for its stores.
  ///
  /// False for `.sync`, and in tasks.
  let endsEarly: Bool
  /// Whether its one store only reduces and its caller waits, so that there is nothing to cancel once it has begun.
  let isOfReduction: Bool
  /// The timer until it has fired or was removed.
  var timer: TimerToken?
  /// Whether the last store has ended, so that a deadline passing now has no effect.
  var isSettled = false
  /// Whether the store of an inline run has started; a round knows how each of its stores stands.
  private(set) var hasStarted = false
  /// The end at the deadline, once that has come before the end of the stores.
  private(set) var early: EarlyEnd?

  init(
    until deadline: Deadline, of dispatcher: Dispatcher, endsEarly: Bool,
    isOfReduction: Bool = false
  ) {
    (self.deadline, self.dispatcher, clock) = (deadline, dispatcher, dispatcher.clock)
    (self.endsEarly, self.isOfReduction) = (endsEarly, isOfReduction)
  }

  var inherited: InheritedDeadline { InheritedDeadline(time: deadline.time, clock: clock) }

  /// The dispatcher and the deadline; nil after the end.
  var timing: (Dispatcher, Deadline)? { dispatcher.map { ($0, deadline) } }

  /// Notes that a store of an inline run starts; returns false if the dispatch has ended at its deadline.
  mutating func claimStoreStart() -> Bool {
    hasStarted = true
    return early == nil
  }

  /// Claims the end for the deadline, before the end of the stores; nil if the result waits for the stores.
  mutating func claimEnd() -> EarlyEnd? {
    guard endsEarly else { return nil }
    let claimed = EarlyEnd(of: dispatcher, hasStarted: hasStarted)
    early = claimed
    return claimed
  }

  /// Whether it no longer concerns the dispatch: it had no effect, and no timer refers to the dispatch.
  var isOver: Bool { timer == nil && early == nil }
}

extension DispatchError {
  /// Creates the error of a timeout.
  ///
  /// Call it outside of locks, since an action's description is user code.
  ///
  /// - Parameter obstacle: The obstacle at its gate, if it waited there.
  static func timedOut(
    _ callSite: CallSite, after duration: Duration, waitingFor obstacle: String? = nil
  ) -> DispatchError {
    let waited = obstacle.map { " It waited for \($0)." } ?? ""
    return DispatchError(
      code: .timedOut,
      message: """
        The dispatch at \(callSite) has timed out: it had not ended after \(max(duration, .zero)).\(waited) What \
        had not started by then does not run, and what had is cancelled.
        """,
      callSites: [callSite], timeLimit: max(duration, .zero))
  }
}
