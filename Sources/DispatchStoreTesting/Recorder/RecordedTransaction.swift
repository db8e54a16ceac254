public import DispatchStore

/// One dispatched action, as recorded so far.
public struct RecordedTransaction: Sendable {
  /// Its number among all that were recorded, from 1, in the order in which they were dispatched.
  public let number: Int
  /// The dispatch's identifier, which differs from run to run.
  public let id: TransactionID
  /// The number of the dispatch inside which it was dispatched.
  public let cause: Int?
  /// The action as dispatched; nil for `dispatch(actions:)`, whose actions have it as their cause.
  public let action: AnyAction?
  /// How it is scheduled.
  public let mode: Dispatcher.Mode
  /// Where it was dispatched.
  public let callSite: CallSite
  /// The stores that have begun to run it, in order.
  public internal(set) var storeRuns: [StoreRun] = []
  /// Whether it has ended: its completion has run.
  public internal(set) var hasEnded = false
  /// How it ended; nil for a single action of `dispatch(actions:)`.
  public internal(set) var result: DispatchResult?

  /// One store's run of the action.
  public struct StoreRun: Sendable {
    /// The store.
    public let storeIdentifier: String
    /// The action; after the end, as it ran, with what middleware replaced.
    public internal(set) var action: AnyAction
    /// How it ended; nil until then.
    public internal(set) var outcome: StoreOutcome?
    let store: ObjectIdentifier
    /// When it ended, in the recorder's count of events.
    var endedAt: Int?
  }

  /// The first error, in the order of the stores.
  public var error: (any Error)? {
    result?.error ?? storeRuns.lazy.compactMap { $0.outcome?.error }.first
  }
}

extension RecordedTransaction: CustomStringConvertible {
  /// The number, the action, the mode and each store's outcome, on one line.
  public var description: String { "\(name), \(mode) → \(end)" }

  /// The number and the action.
  var name: String { "\(number) \(action.map { Diff.line(action: $0) } ?? "several actions")" }

  private var end: String {
    let ends = storeRuns.map { run in
      "\(run.storeIdentifier) \(run.outcome.map { "\($0)" } ?? "under way")"
    }
    if !ends.isEmpty { return ends.joined(separator: ", ") }
    guard hasEnded else { return "under way" }
    if action == nil { return error.map { "failed: \($0)" } ?? "finished" }
    return error.map { "failed: \($0)" } ?? "no store responded"
  }
}
