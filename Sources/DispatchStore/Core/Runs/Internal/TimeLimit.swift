/// When a dispatch times out.
struct Deadline {
  /// In nanoseconds of the dispatcher's clock.
  let time: Int64
  /// The nanoseconds from the dispatch to the deadline.
  let nanoseconds: Int64

  init(time: Int64, nanoseconds: Int64) {
    (self.time, self.nanoseconds) = (time, nanoseconds)
  }

  /// So many nanoseconds after a time of the clock.
  init(after nanoseconds: Int64, by now: Int64) {
    self.init(time: now.addingClamped(nanoseconds), nanoseconds: nanoseconds)
  }

  /// The time from the dispatch to the deadline.
  var duration: Duration { .nanoseconds(nanoseconds) }
}

/// A dispatch's time limit, guarded by the lock of its details.
struct TimeLimit {
  let deadline: Deadline
  /// Keeps the dispatcher until the end, since nothing else may keep that of a dispatch that waits.
  var dispatcher: Dispatcher?
  /// Whether what is given out does not wait for the stores' end: not for `.sync`, and in tasks.
  let endsEarly: Bool
  /// Whether there is nothing to cancel once the dispatch has begun, and its caller waits: its one store only reduces.
  let isOfReduction: Bool
  /// Among the dispatcher's timers, until it has fired or was removed.
  var timer: TimerToken?
  /// Whether the last store has ended, so that a deadline which comes now has no effect.
  var isSettled = false
  /// Whether its only store has started, of one that has one.
  private var hasStarted = false
  /// The end at the deadline, once there is something to note.
  private(set) var early: EarlyEnd?

  init(
    until deadline: Deadline, of dispatcher: Dispatcher, endsEarly: Bool,
    isOfReduction: Bool = false
  ) {
    (self.deadline, self.dispatcher) = (deadline, dispatcher)
    (self.endsEarly, self.isOfReduction) = (endsEarly, isOfReduction)
  }

  /// Gives the dispatcher and the deadline; nil after the end.
  var timing: (Dispatcher, Deadline)? { dispatcher.map { ($0, deadline) } }

  /// Notes how far the dispatch comes, for an end at the deadline; nil if no such end comes, or it has.
  var notes: EarlyEnd? {
    mutating get {
      guard endsEarly, early?.isClaimed != true else { return nil }
      return earlyEnd()
    }
  }

  /// A store of an inline run starts; false if the dispatch has ended at its deadline.
  mutating func noteStart(at index: Int, of identifiers: [String]) -> Bool {
    if identifiers.count == 1 {
      hasStarted = true
      return early?.isClaimed != true
    }
    guard let notes else { return !endsEarly }
    notes.note(.cancelled(hasStarted: true), at: index, of: identifiers)
    return true
  }

  /// The deadline has come before the end of the stores; nil if what is given out follows that.
  mutating func claimEnd() -> EarlyEnd? {
    guard endsEarly else { return nil }
    let early = earlyEnd()
    early.isClaimed = true
    early.dispatcher = dispatcher
    return early
  }

  private mutating func earlyEnd() -> EarlyEnd {
    if let early { return early }
    let made = EarlyEnd(hasStarted: hasStarted)
    early = made
    return made
  }

  /// Whether it no longer concerns the dispatch: it has had no effect, and the timers do not refer to the dispatch.
  var isOver: Bool { timer == nil && early?.isClaimed != true }
}

/// What it takes to end a dispatch at its deadline, while another thread still runs its stores.
final class EarlyEnd: @unchecked Sendable {
  // because the lock of the dispatch's details guards what changes
  /// Whether the deadline has come before the end of the stores.
  var isClaimed = false
  /// What the record had, from then on.
  var completion: Completion?
  private(set) var carried: CapturedTaskLocal?
  /// Until that completion has run.
  var dispatcher: Dispatcher?
  /// Which does not end before that completion has: a drain waits for it, and what it dispatches is accepted.
  var generation: DispatchGeneration?
  var result: DispatchResult?
  /// How far the dispatch has come, until the deadline.
  private var identifiers: [String] = []
  private var outcomes: [StoreOutcome] = []
  private var steps: [DispatchResult] = []
  /// Of a sequence.
  var actionCount: Int?
  private let hasStarted: Bool

  /// - Parameter hasStarted: Whether its only store has started, which is not noted.
  init(hasStarted: Bool) {
    self.hasStarted = hasStarted
  }

  private func begin(_ identifiers: [String]) {
    self.identifiers = identifiers
    outcomes = identifiers.map { _ in .cancelled(hasStarted: hasStarted) }
  }

  /// A store of an inline run starts, or has ended.
  func note(_ outcome: StoreOutcome, at index: Int, of identifiers: [String]) {
    if identifiers.count != self.identifiers.count { begin(identifiers) }
    self.identifiers = identifiers
    outcomes[index] = outcome
  }

  /// An action of a sequence has ended.
  func note(_ step: DispatchResult) {
    steps.append(step)
  }

  /// Takes from the record what the end needs, under the details' lock: the thread that runs the stores uses none of it
  /// before it has found there that their end decides, or that this one does.
  func claim(_ dispatch: Dispatch) {
    completion = dispatch.takeCompletion()
    carried = dispatch.carried?.copy()
    generation =
      dispatch.route?._withUnsafeGuaranteedRef(\.presentGeneration)
      ?? dispatch.sequence?.generation
    if outcomes.isEmpty, let route = dispatch.route {
      begin(route._withUnsafeGuaranteedRef(\.identifiers))
    }
  }

  /// What there is of an inline run or a sequence, beside what runs.
  func result(of id: TransactionID, _ error: DispatchError?) -> DispatchResult {
    guard let actionCount else {
      return DispatchResult(
        transaction: id, identifiers: identifiers, outcomes: outcomes, error: error)
    }
    return DispatchResult(
      transaction: id, steps: steps, skippedActionCount: actionCount - steps.count, error: error)
  }
}

extension DispatchError {
  /// To be made outside of locks, since an action's description is the program's.
  ///
  /// - Parameter obstacle: What it waited for at its gate.
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
