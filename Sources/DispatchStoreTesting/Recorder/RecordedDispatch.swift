public import DispatchStore

/// A dispatched action, as recorded so far.
public struct RecordedDispatch: Sendable {
  /// The number among all recorded dispatches, from 1, in the order in which they were made.
  public let number: Int
  /// The dispatch's identifier, which differs from run to run.
  public let id: DispatchID
  /// The number of the dispatch inside which this one was made.
  public let cause: Int?
  /// The action as dispatched, without its wrapping if it was dispatched as a `HandledAction`.
  ///
  /// Nil for `dispatch(actions:)`, which is the cause of its actions.
  public let action: AnyAction?
  /// The mode of the dispatch.
  public let mode: Dispatcher.Mode
  /// The source location of the dispatch.
  public let callSite: CallSite
  /// The stores that have begun to run the action, in order.
  ///
  /// A store that is retried is there once for each attempt.
  public internal(set) var storeRuns: [StoreRun] = []
  /// Whether the dispatch has ended and its completion has run.
  public internal(set) var hasEnded = false
  /// The outcome, or nil until the end.
  public internal(set) var result: DispatchResult?

  /// A store's run of the action.
  public struct StoreRun: Sendable {
    /// The identifier of the store.
    public let storeIdentifier: String
    /// The action.
    ///
    /// After the end, as it ran, with a middleware's replacement.
    public internal(set) var action: AnyAction
    /// The outcome of the run, or nil until its end.
    public internal(set) var outcome: StoreOutcome?
    let store: ObjectIdentifier
    /// The time of the end, in the recorder's count of events.
    var endedAt: Int?
  }

  /// The first error, in the order of the stores, or nil until the end.
  ///
  /// Also nil if a store failed, and succeeded when it was retried.
  public var error: (any Error)? { result?.error }
}

extension RecordedDispatch: CustomStringConvertible {
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
