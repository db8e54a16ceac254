/// The state machine of one operation, without locks or threads.
///
/// The operation ends when an outcome was requested and no call is in progress. Calls are its synchronous block, and
/// updates through it on other threads.
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

  /// Whether the operation is unchanged since it was made.
  var isUntouched: Bool {
    isPending && !isClaimed && !isCancelled && requested == nil
  }

  var isRunning: Bool { phase == .running }

  /// Claims the operation for a dispatch; returns false if it was already started or claimed.
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

  /// Whether it ends as finished, now that its block has returned.
  ///
  /// If so, the state is reset for reuse.
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
    /// The operation was started before.
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
    /// The operation ends when the calls in progress have returned, or when it is started.
    case later
    /// The operation had been finished before.
    case repeated
  }

  mutating func finish(_ outcome: StoreOutcome) -> Finish {
    if let outcome = self.outcome {
      return isPlanted(.doubleFinish) ? .end(outcome) : .repeated
    }
    guard requested == nil else { return .repeated }
    // A cancellation before the start remains the outcome.
    let isCancelledBefore = isPending && (isCancelled || outcome.isCancelled)
    requested = isCancelledBefore ? .cancelled(hasStarted: false) : outcome
    return endIfIdle().map(Finish.end) ?? .later
  }

  /// Finishes the operation, and begins to keep its reply, as an update; returns false if it was finished before.
  mutating func beginReply() -> Bool {
    guard isRunning, requested == nil || isPlanted(.replyAfterEnd) else { return false }
    requested = .finished
    busy += 1
    return true
  }

  /// Begins an update through the operation; returns false if it has ended.
  mutating func beginUpdate() -> Bool {
    if phase == .ended { return false }
    busy += 1
    return true
  }

  /// Notes that the block or an update has returned.
  ///
  /// Returns the outcome, if that ends the operation.
  ///
  /// - Parameter outcome: Counts unless the operation was finished before.
  mutating func returned(requesting outcome: StoreOutcome? = nil) -> StoreOutcome? {
    busy -= 1
    requested = requested ?? outcome
    return endIfIdle()
  }

  /// Cancels the operation; returns false if it was cancelled before or has ended.
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
