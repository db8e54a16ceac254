public import DispatchStore
public import Logging
import Synchronization

/// Logs how each store's part in a dispatch has ended, with structured metadata.
///
/// Finished runs are logged at `debug`, so that a logger at `info` costs a comparison. Each attempt of a retry has
/// a line. A dispatch that times out or is dropped in the queue has a line of its own, because its stores say that
/// they were cancelled. One that is refused before it begins calls no middleware: its caller has the error, and the
/// limit counts it.
public final class DispatchLogger: Middleware {
  private let logger: Logger
  private let finished: Logger.Level
  private let level: @Sendable (any Error) -> Logger.Level
  private let lane: @Sendable (Dispatcher.Mode) -> String
  private let time: @Sendable () -> Duration
  private let names = TypeNames()
  private let bursts = Mutex<[DispatchWarning.Kind: Burst]>([:])

  /// Warnings of a kind since its last line.
  private struct Burst {
    let begin: Duration
    var more = 0
  }

  /// Kinds that each dispatch can bring: while the bank is away, each attempt of each charge.
  private static let frequent: Set<DispatchWarning.Kind> = [
    .effectFailed, .middlewareFailed, .finishedTwice, .updateAfterEnd, .abandoned, .effectEnded,
    .absentPrerequisite, .notEncodable,
  ]

  /// Makes a middleware that writes to a logger.
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - finished: The level of finished runs.
  ///   - clock: The clock by which a kind of warnings has a line a second.
  ///   - level: The level of an error.
  ///   - lane: Returns what a log shows of a mode. By default it has the key of the lane: hide that if it is private, such
  ///     as an account.
  public init(
    _ logger: Logger, finished: Logger.Level = .debug,
    clock: any Clock<Duration> = ContinuousClock(),
    level: @escaping @Sendable (any Error) -> Logger.Level = DispatchLogger.level(of:),
    lane: @escaping @Sendable (Dispatcher.Mode) -> String = { "\($0)" }
  ) {
    (self.logger, self.finished, self.level, self.lane) = (logger, finished, level, lane)
    time = Self.stopwatch(clock)
  }

  private static func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// The level of an error by its kind.
  ///
  /// An `AnswerError`: `debug`. Vetoes, cancellations and what a limit or a key has refused: `info`. Time-outs, and
  /// stores that were not run or were undone because of another one's error: `warning`. All else: `error`.
  public static func level(of error: any Error) -> Logger.Level {
    switch RunOutcome(error) {
    case .answered: return .debug
    case .finished, .cancelled, .vetoed, .refused: return .info
    case .timedOut: return .warning
    case .failed:
      let code = (error as? DispatchError)?.code
      return code == .dependencyFailed || code == .undone ? .warning : .error
    }
  }

  /// Logs the run.
  public func didDispatch(transaction run: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    let error = run.outcome.error
    logger.log(
      level: error.map(level) ?? finished, "\(names.name(of: action)) \(RunOutcome(run.outcome))",
      error: error,
      metadata: metadata(
        of: run.dispatch, action, RunOutcome(run.outcome), run.duration, run.timeQueued,
        in: store.identifier))
  }

  /// Logs an error that no store has.
  public func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
    guard !result.isSuccess, let error = result.dispatchError,
      !result.steps.contains(where: { !$0.isSuccess }),
      !result.stores.contains(where: { $0.outcome.isFailed || $0.outcome.veto != nil })
    else { return }
    let (outcome, action) = (RunOutcome(error), dispatch.actions.first)
    logger.log(
      level: level(error), "\(action.map { names.name(of: $0) } ?? "Nothing") \(outcome)",
      error: error,
      metadata: metadata(of: dispatch, action, outcome, dispatch.duration, dispatch.timeQueued))
  }

  private func metadata(
    of dispatch: DispatchInfo, _ action: AnyAction?, _ outcome: RunOutcome, _ duration: Duration,
    _ timeQueued: Duration, in store: String? = nil
  ) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "dispatch": "\(dispatch.id)", "lane": "\(lane(dispatch.mode))", "outcome": "\(outcome)",
      "duration_ms": "\(duration.milliseconds)", "queued_ms": "\(timeQueued.milliseconds)",
      "call_site": "\(dispatch.callSite)",
    ]
    metadata["action"] = action.map { "\(names.name(of: $0))" }
    metadata["store"] = store.map { "\($0)" }
    metadata["parent"] = dispatch.parent.map { "\($0)" }
    return metadata
  }

  /// Logs a warning of the library, for `Dispatcher.onWarning`.
  ///
  /// Failed effects, and other kinds that each dispatch can bring, have a line a second at most. The next line says how
  /// many came before it.
  public func log(_ warning: DispatchWarning) {
    guard let more = unlogged(before: warning.kind) else { return }
    var metadata: Logger.Metadata = ["kind": "\(warning.kind)"]
    if let store = warning.storeIdentifier { metadata["store"] = "\(store)" }
    let rest = more == 0 ? "" : " (and \(more) more before it)"
    logger.warning("\(warning.message)\(rest)", metadata: metadata)
  }

  /// Returns how many warnings of a kind have had no line since the last one; nil if the next one has none either.
  private func unlogged(before kind: DispatchWarning.Kind) -> Int? {
    guard Self.frequent.contains(kind) else { return 0 }
    let now = time()
    return bursts.withLock { bursts -> Int? in
      let last = bursts[kind]
      if let last, now - last.begin < .seconds(1) {
        bursts[kind]!.more += 1
        return nil
      }
      bursts[kind] = Burst(begin: now)
      return last?.more ?? 0
    }
  }
}
