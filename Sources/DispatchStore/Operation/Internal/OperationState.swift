/// The life of one operation, without threads.
///
/// It ends when a finish was asked for and nothing that it has under way is left: its synchronous
/// block, and updates through it on other threads.
struct OperationState {
  private enum Phase {
    /// Not started. Can become running or ended.
    case pending
    /// The block was called. Can become ended.
    case running
    /// Nothing follows.
    case ended(StoreOutcome)
  }

  private var phase = Phase.pending
  /// What a finish asked for; before the start it takes effect at the start.
  private var asked: StoreOutcome?
  private(set) var isCancelled = false
  /// Calls that are under way: the block, and updates.
  private var busy = 0
  /// Whether an engine took it, so that no other may.
  private(set) var isClaimed = false

  var outcome: StoreOutcome? {
    if case .ended(let outcome) = phase { outcome } else { nil }
  }

  /// Whether nobody has said how it ends.
  var isUnfinished: Bool { asked == nil }

  var isPending: Bool {
    if case .pending = phase { true } else { false }
  }

  /// Whether nobody has said anything of it yet.
  var isUntouched: Bool {
    isPending && !isClaimed && !isCancelled && asked == nil
  }

  var isRunning: Bool {
    if case .running = phase { true } else { false }
  }

  /// Takes it for a dispatch; false where it was started or taken already.
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

  /// Whether it ends as finished once its block has returned, so that no more need be noted of it.
  ///
  /// - Parameter isFinished: Whether the block has said so by returning.
  func endsFinished(_ isFinished: Bool) -> Bool {
    guard busy == 1, isRunning else { return false }
    if let asked { return asked.isFinished }
    return isFinished
  }

  enum Start {
    case run
    case end(StoreOutcome)
    /// It was started before.
    case ignore
  }

  mutating func start() -> Start {
    guard isPending else { return .ignore }
    if let outcome = asked ?? (isCancelled ? .cancelled : nil) {
      phase = .ended(outcome)
      return .end(outcome)
    }
    phase = .running
    busy = 1
    return .run
  }

  enum Finish {
    case end(StoreOutcome)
    /// It ends when what is under way has returned, or when it is started.
    case later
    /// It had been finished before.
    case repeated
  }

  mutating func finish(_ outcome: StoreOutcome) -> Finish {
    if case .ended(let outcome) = phase {
      return isPlanted(.doubleFinish) ? .end(outcome) : .repeated
    }
    guard asked == nil else { return .repeated }
    asked = outcome
    return endIfIdle().map(Finish.end) ?? .later
  }

  /// An update through it begins; false where it has ended.
  mutating func beginUpdate() -> Bool {
    if case .ended = phase { return false }
    busy += 1
    return true
  }

  /// The block, or an update, has returned; the outcome, where that ends the operation.
  ///
  /// - Parameter outcome: How it is to end, unless it was finished before.
  mutating func returned(asking outcome: StoreOutcome? = nil) -> StoreOutcome? {
    busy -= 1
    asked = asked ?? outcome
    return endIfIdle()
  }

  /// Whether that is news.
  mutating func cancel() -> Bool {
    if case .ended = phase { return false }
    defer { isCancelled = true }
    return !isCancelled
  }

  private mutating func endIfIdle() -> StoreOutcome? {
    guard isRunning, busy == 0 || isPlanted(.endBeforeUpdate), let asked else { return nil }
    phase = .ended(asked)
    return asked
  }
}
