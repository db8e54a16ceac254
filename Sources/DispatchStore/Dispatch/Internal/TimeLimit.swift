/// When a dispatch times out.
struct Deadline {
  /// In nanoseconds of the dispatcher's clock.
  let time: Int64
  /// The time from the dispatch to the deadline.
  let duration: Duration
}

/// A dispatch's time limit.
final class TimeLimit: @unchecked Sendable {
  // because the lock of the dispatch's details guards `timer`
  let deadline: Int64
  let duration: Duration
  let dispatcher: Dispatcher
  /// The end at the deadline; nil where what is given out follows the stores' end: for `.sync`, and in tasks.
  let early: EarlyEnd?
  /// Until it has fired or was removed.
  var timer: TimerToken?

  init(until deadline: Deadline, of dispatcher: Dispatcher, early: EarlyEnd?) {
    self.deadline = deadline.time
    duration = deadline.duration
    self.dispatcher = dispatcher
    self.early = early
  }
}

/// What it takes to end a dispatch at its deadline, while another thread still runs its stores.
final class EarlyEnd: @unchecked Sendable {
  // because the lock of the dispatch's details guards what changes
  /// Until the end, which takes it; the record has none.
  var completion: Completion?
  let carried: CapturedTaskLocal?
  /// Whether the deadline has come before the end of the stores.
  var isClaimed = false
  var result: DispatchResult?
  /// How far the dispatch has come, until the deadline.
  private var identifiers: [String]
  private var outcomes: [StoreOutcome]
  private var steps: [DispatchResult] = []
  /// Of a sequence.
  var actionCount: Int?

  init(
    _ completion: Completion?, carrying carried: CapturedTaskLocal?, to identifiers: [String]
  ) {
    self.completion = completion
    self.carried = carried
    self.identifiers = identifiers
    outcomes = Self.notStarted(identifiers)
  }

  private static func notStarted(_ identifiers: [String]) -> [StoreOutcome] {
    identifiers.map { _ in .cancelled(hasStarted: false) }
  }

  /// A store of an inline run starts, or has ended.
  func note(_ outcome: StoreOutcome, at index: Int, of identifiers: [String]) {
    if identifiers.count != self.identifiers.count { outcomes = Self.notStarted(identifiers) }
    self.identifiers = identifiers
    outcomes[index] = outcome
  }

  /// An action of a sequence has ended.
  func note(_ step: DispatchResult) {
    steps.append(step)
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
