/// The time at which a dispatch times out.
struct Deadline {
  /// The time in nanoseconds of the dispatcher's clock.
  let time: Int64
  /// The nanoseconds from the dispatch to the deadline.
  let nanoseconds: Int64

  init(time: Int64, nanoseconds: Int64) {
    (self.time, self.nanoseconds) = (time, nanoseconds)
  }

  /// Creates a deadline this many nanoseconds after a time of the clock.
  init(after nanoseconds: Int64, by now: Int64) {
    self.init(time: now.addingClamped(nanoseconds), nanoseconds: nanoseconds)
  }

  /// The time from the dispatch to the deadline.
  var duration: Duration { .nanoseconds(nanoseconds) }
}

/// The deadline of a dispatch, for the dispatches that its blocks make, perhaps by other dispatchers.
struct InheritedDeadline {
  /// The time in nanoseconds of `clock`.
  let time: Int64
  let clock: DispatcherClock

  /// Returns the same time in nanoseconds of another clock.
  ///
  /// - Parameter now: The present time of that clock.
  func time(by other: DispatcherClock, at now: Int64) -> Int64 {
    // Computed only if necessary: it comes earlier by the time between the two readings.
    clock.hasTimes(of: other)
      ? time : now.addingClamped(time.addingClamped(-clock.nanoseconds))
  }
}

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

  /// Timing of a reduction that goes on in a round without a timer; nil for others.
  var timingInRound: (Dispatcher, Deadline)? { isOfReduction && timer == nil ? timing : nil }

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

/// The data that ends a dispatch at its deadline, while another thread still runs its stores.
final class EarlyEnd: @unchecked Sendable {
  // because the lock of the dispatch's details guards its mutable state
  /// The completion and task-local values, taken from the record when the end is claimed.
  var completion: Completion?
  private(set) var carried: CapturedTaskLocal?
  /// The dispatcher, retained until that completion has run.
  var dispatcher: Dispatcher?
  /// The generation, which ends only after that completion: a drain waits for it, and accepts dispatches made there.
  var generation: DispatchGeneration?
  var result: DispatchResult?
  /// The round of the dispatch, which knows how its stores stand; nil in an inline run, and in a sequence.
  var round: Round?
  /// The stores of an inline run: one, or none of them has started.
  private var identifiers: [String] = []
  private let hasStarted: Bool
  /// The progress of a sequence; nil for an action.
  private var progress: DispatchSequence.Progress?

  /// - Parameter hasStarted: Whether the store of an inline run has started.
  init(of dispatcher: Dispatcher?, hasStarted: Bool) {
    (self.dispatcher, self.hasStarted) = (dispatcher, hasStarted)
  }

  /// Takes the data for the end from the record, under the details' lock.
  ///
  /// The thread that runs the stores uses none of it before it has checked under the lock which end decides.
  func claim(_ dispatch: Dispatch) {
    completion = dispatch.completion.take()
    carried = dispatch.carried
    generation =
      dispatch.route?._withUnsafeGuaranteedRef(\.presentGeneration)
      ?? dispatch.sequence?.generation
    identifiers = dispatch.route?._withUnsafeGuaranteedRef(\.identifiers) ?? []
    progress = dispatch.sequence?.progress
  }

  /// Returns the result of an inline run or a sequence.
  func result(
    of id: DispatchID, replies: [String: any Sendable], _ error: DispatchError?
  ) -> DispatchResult {
    if let (steps, actionCount) = progress {
      return DispatchResult(
        dispatchID: id, steps: steps, skippedActionCount: actionCount - steps.count, error: error)
    }
    return DispatchResult(
      dispatchID: id, identifiers: identifiers,
      outcomes: identifiers.map { _ in .cancelled(hasStarted: hasStarted) }, replies: replies,
      error: error)
  }
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
