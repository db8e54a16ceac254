/// The state machine of one operation, without locks or threads.
///
/// It ends when an outcome was requested and no call is in progress: its synchronous block, and updates
/// through it on other threads.
struct OperationState {
  private enum Phase {
    /// Not started. Can become running or ended.
    case pending
    /// The block was called. Can become ended.
    case running
    /// Final, with the outcome that was requested.
    case ended
  }

  private var phase = Phase.pending
  /// The outcome of the first `finish`; before the start, it takes effect at the start.
  private var requested: StoreOutcome?
  private(set) var isCancelled = false
  /// The number of calls in progress: the block, and updates.
  private var busy = 0
  /// Whether a dispatch has claimed it, so that no other may.
  private(set) var isClaimed = false

  var outcome: StoreOutcome? { phase == .ended ? requested : nil }

  /// Whether its block, or an update through it, is in progress.
  var isBusy: Bool { busy > 0 }

  /// Whether no outcome was requested.
  var isUnfinished: Bool { requested == nil }

  var isPending: Bool { phase == .pending }

  /// Whether it is as it was made.
  var isUntouched: Bool {
    isPending && !isClaimed && !isCancelled && requested == nil
  }

  var isRunning: Bool { phase == .running }

  /// Claims it for a dispatch; false where it was started or claimed already.
  mutating func claim() -> Bool {
    guard isPending, !isClaimed else { return false }
    isClaimed = true
    return true
  }

  /// Claims it and starts it at once.
  mutating func startUntouched() {
    isClaimed = true
    phase = .running
    busy = 1
  }

  /// Whether it ends as finished, now that its block has returned; it is then as it was made.
  ///
  /// - Parameter isFinished: Whether the block's return requests that.
  mutating func endsForReuse(_ isFinished: Bool) -> Bool {
    guard busy == 1, isRunning, requested?.isFinished ?? isFinished else { return false }
    (phase, busy, isClaimed, isCancelled) = (.pending, 0, false, false)
    if requested != nil { requested = nil }
    return true
  }

  enum Start {
    case run
    case end(StoreOutcome)
    /// It was started before.
    case ignore
  }

  mutating func start() -> Start {
    guard isPending else { return .ignore }
    if let outcome = requested ?? (isCancelled ? .cancelled(hasStarted: false) : nil) {
      (phase, requested) = (.ended, outcome)
      return .end(outcome)
    }
    phase = .running
    busy = 1
    return .run
  }

  enum Finish {
    case end(StoreOutcome)
    /// It ends when the calls in progress have returned, or when it is started.
    case later
    /// It had been finished before.
    case repeated
  }

  mutating func finish(_ outcome: StoreOutcome) -> Finish {
    if let outcome = self.outcome {
      return isPlanted(.doubleFinish) ? .end(outcome) : .repeated
    }
    guard requested == nil else { return .repeated }
    // One that was cancelled before its start stays that.
    let isCancelledBefore = isPending && (isCancelled || outcome.isCancelled)
    requested = isCancelledBefore ? .cancelled(hasStarted: false) : outcome
    return endIfIdle().map(Finish.end) ?? .later
  }

  /// Finishes it, and begins to keep its reply, as an update; false where it was finished before.
  mutating func beginReply() -> Bool {
    guard isRunning, requested == nil || isPlanted(.replyAfterEnd) else { return false }
    requested = .finished
    busy += 1
    return true
  }

  /// Begins an update through it; false where it has ended.
  mutating func beginUpdate() -> Bool {
    if phase == .ended { return false }
    busy += 1
    return true
  }

  /// After the block, or an update, has returned: the outcome, where that ends the operation.
  ///
  /// - Parameter outcome: Counts unless the operation was finished before.
  mutating func returned(requesting outcome: StoreOutcome? = nil) -> StoreOutcome? {
    busy -= 1
    requested = requested ?? outcome
    return endIfIdle()
  }

  /// False where it was cancelled before or has ended.
  mutating func cancel() -> Bool {
    if phase == .ended { return false }
    defer { isCancelled = true }
    return !isCancelled
  }

  private mutating func endIfIdle() -> StoreOutcome? {
    guard isRunning, busy == 0 || isPlanted(.endBeforeUpdate), let requested else { return nil }
    phase = .ended
    return requested
  }
}
