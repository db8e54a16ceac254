/// The outcome of a dispatch: the result of each store run, in the order of their store indices.
public struct DispatchResult: Sendable {
  /// The identity of the dispatch.
  public let dispatchID: DispatchID
  /// For a sequence, the result of each action that was dispatched; for a group, of each step.
  ///
  /// Empty otherwise.
  public let steps: [DispatchResult]
  /// For a sequence, the number of actions that were not dispatched because an earlier one failed.
  package let skippedActionCount: Int
  /// The first error, in the order of `stores`, or nil on success.
  ///
  /// A store's own error, `CancellationError`, or a `DispatchError`.
  public let error: (any Error)?
  private let identifiers: [String]
  /// The outcomes by store index.
  ///
  /// Empty if all stores finished.
  private let outcomes: [StoreOutcome]
  /// The rarely used parts; nil for most results.
  private var further: Further?

  /// The rarely used parts of a result.
  private final class Further: Sendable {
    /// The replies by store identifier.
    let replies: [String: any Sendable]
    /// The number of starts by store index.
    ///
    /// Nil if no store was started more than once.
    let attempts: [Int]?
    /// Whether a store has begun; nil if the outcomes say so.
    let hasBegun: Bool?

    init(_ replies: [String: any Sendable], _ attempts: [Int]?, _ hasBegun: Bool?) {
      self.replies = replies
      self.attempts = attempts
      self.hasBegun = hasBegun
    }
  }

  /// The replies by store identifier.
  ///
  /// Mostly empty.
  var replies: [String: any Sendable] { further?.replies ?? [:] }

  /// Makes the result of one action.
  ///
  /// - Parameters:
  ///   - outcomes: By store index. Empty if all stores finished.
  ///   - attempts: By store index. Nil if no store was started more than once.
  ///   - hasBegun: Whether a store has begun, if one did not finish; nil if the outcomes say so.
  init(
    dispatchID: DispatchID, identifiers: [String] = [], outcomes: [StoreOutcome] = [],
    replies: [String: any Sendable] = [:], attempts: [Int]? = nil, hasBegun: Bool? = nil,
    error: (any Error)? = nil
  ) {
    self.dispatchID = dispatchID
    let isSaid =
      outcomes.isEmpty || hasBegun == nil || hasBegun == outcomes.contains(where: \.mayHaveStarted)
    further =
      replies.isEmpty && attempts == nil && isSaid
      ? nil : Further(replies, attempts, isSaid ? nil : hasBegun)
    self.identifiers = identifiers
    self.outcomes = outcomes
    self.error = outcomes.isEmpty ? error : error ?? outcomes.lazy.compactMap(\.error).first
    steps = []
    skippedActionCount = 0
  }

  /// Makes the result of a sequence or a group.
  ///
  /// - Parameter stepHasBegun: Whether a store of the running action, which is not in `steps`, has begun at a deadline.
  init(
    dispatchID: DispatchID, steps: [DispatchResult], skippedActionCount: Int,
    stepHasBegun: Bool = false, error: (any Error)?
  ) {
    self.dispatchID = dispatchID
    let isUnsaved = (error as? DispatchError)?.isAfterCommit == true
    self.steps = isUnsaved ? steps.map(\.withoutReplies) : steps
    self.skippedActionCount = skippedActionCount
    self.error = error
    identifiers = []
    outcomes = []
    further = stepHasBegun ? Further([:], nil, true) : nil
  }

  private var withoutReplies: DispatchResult {
    guard let further else { return self }
    var result = self
    result.further = Further([:], further.attempts, further.hasBegun)
    return result
  }

  /// Whether a store may have read or changed something.
  var mayHaveStarted: Bool { outcomes.isEmpty || outcomes.contains(where: \.mayHaveStarted) }

  /// Whether a handler has started, and was not undone: if none has, nothing has happened, and a repeat is safe.
  ///
  /// Neither the error nor a failed outcome says so: a hook or a full limit may have failed a store before its handler,
  /// and a handler may have thrown the error of another dispatch. At a deadline, a handler that has just become due
  /// counts as started.
  public var hasStarted: Bool {
    if let hasBegun = further?.hasBegun { return hasBegun }
    if !steps.isEmpty { return steps.contains(where: \.hasStarted) }
    return outcomes.isEmpty ? hasResponders : outcomes.contains(where: \.mayHaveStarted)
  }

  /// The results of the store runs.
  ///
  /// For a sequence, one action after the other.
  ///
  /// Each access computes them, in time linear in the number of stores.
  public var stores: [StoreResult] {
    guard steps.isEmpty else { return steps.flatMap(\.stores) }
    return identifiers.enumerated().map { index, identifier in
      StoreResult(
        storeIdentifier: identifier, outcome: outcomes.isEmpty ? .finished : outcomes[index],
        attemptCount: further?.attempts?[index] ?? 1)
    }
  }

  /// Whether every store run finished.
  ///
  /// True if no store responded.
  public var isSuccess: Bool { error == nil }

  /// The first error, if it is a `DispatchError`.
  ///
  /// Nil for `CancellationError` and for the program's own errors.
  public var dispatchError: DispatchError? { error as? DispatchError }

  /// The error with which the dispatch itself was refused or cancelled; nil if it is a store's.
  var ownError: DispatchError? {
    let isOfStore = outcomes.contains { ($0.error as? DispatchError)?.code == dispatchError?.code }
    return isOfStore ? nil : dispatchError
  }

  /// Whether any store responded.
  public var hasResponders: Bool { !identifiers.isEmpty || steps.contains(where: \.hasResponders) }

  /// The outcome of the store with this identifier; `notInvolved` if none took part.
  ///
  /// For a sequence, of its last run.
  public subscript(storeIdentifier: String) -> StoreOutcome {
    stores.last { $0.storeIdentifier == storeIdentifier }?.outcome ?? .notInvolved
  }

  /// Returns the result itself on success, and throws `error` otherwise.
  @discardableResult
  public func get() throws -> DispatchResult {
    if let error { throw error }
    return self
  }
}

/// The result of a store run.
public struct StoreResult: Sendable {
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The outcome of the run.
  ///
  /// After several attempts, of the last one.
  public let outcome: StoreOutcome
  /// The number of attempts: 1 unless the store was run again, by `DispatchOptions.retry(attempts:backoff:where:)`.
  public internal(set) var attemptCount = 1
}

extension DispatchResult: CustomStringConvertible {
  /// The identifier of the dispatch, each store's outcome, and an error that no store has, on one line.
  public var description: String {
    let stores = stores
    var items = stores.map { "\($0.storeIdentifier) \($0.outcome)" }
    if let error, !stores.contains(where: { $0.outcome.error.map { "\($0)" } == "\(error)" }) {
      items.append("\(error)")
    }
    return "\(dispatchID): "
      + (items.isEmpty ? "no store responded" : items.joined(separator: ", "))
  }
}
