/// A store run in a round.
final class RoundStoreRun: StoreRun, @unchecked Sendable {
  // because one step at a time has the store run, and steps follow each other through the round's lock
  private let round: Round
  /// Made, and to be run.
  private var operation: AnyObject?
  /// The store's last run, where it has run again; of the first one.
  var last: RoundStoreRun?
  /// Of one that is not the first.
  let repeated: Repeated?

  /// Another attempt of a store.
  struct Repeated {
    let attempt: Int
    /// What its hooks have said; nil where they let the action pass.
    let reply: MiddlewareChain.Reply?
    /// When they had been called.
    let began: Int64?
  }

  init(
    _ entry: StoreEntry, at index: Int, _ action: any ActionType, in round: Round,
    again repeated: Repeated? = nil
  ) {
    (self.round, self.repeated) = (round, repeated)
    super.init()
    begin(entry, at: index, action, in: round.dispatch.id)
  }

  private var attempt: Int { repeated?.attempt ?? 1 }

  override var dispatch: Dispatch { round.dispatch }
  override var scheduler: Scheduler { round.scheduler }
  override var dispatcherNumber: UInt64 { round.dispatcher }
  override var now: Int64? { round.now }
  override var runsRegardless: Bool { round.runsRegardless(at: index) }
  override var isOnly: Bool { round.hasOneStore }
  override var prerequisiteResults: [StoreResult] { round.prerequisiteResults(at: index) }

  // MARK: Steps

  /// Calls the reducer for the operation, and claims that.
  func start() -> StoreRunStart {
    switch entry.makeOperation(for: action) {
    case .ended(let outcome): .ended(outcome)
    case .made(let operation): enter(operation)
    }
  }

  /// Takes over an operation that an inline run has claimed, and may have started.
  func takeOver(_ operation: AnyObject, isRunning: Bool) -> StoreRunStart {
    isRunning ? entry.takeOver(operation, for: self) : enter(operation)
  }

  private func enter(_ operation: AnyObject) -> StoreRunStart {
    self.operation = operation
    return entry.enter(operation, for: self)
  }

  /// Runs the operation, all of whose dependencies have finished.
  func run() {
    if let operation = operation.take() { entry.run(operation) }
  }

  // MARK: Reports

  override func started(_ operation: AnyObject) {
    round.started(operation, at: index)
  }

  override func becameReady() {
    round.becameReady(at: index, of: attempt)
  }

  override func operationEnded(_ outcome: StoreOutcome) {
    round.operationEnded(at: index, outcome)
  }

  override func beginTaskCommit() -> Bool {
    round.beginTaskCommit(at: index, of: attempt)
  }

  override func endTaskCommit() {
    round.endTaskCommit(at: index)
  }

  override var undeliveredCount: Int { round.undeliveredCount(at: index) }

  override func commitDeferred() {
    round.commitDeferred(at: index)
  }

  override func commitDelivered() {
    round.commitDelivered(at: index)
  }
}
