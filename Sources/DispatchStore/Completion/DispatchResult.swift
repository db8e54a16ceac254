/// How a dispatch ended: the result of each store run, in the order of their store indices.
public struct DispatchResult: Sendable {
  /// The identity of the dispatch.
  public let transaction: TransactionID
  /// For a sequence, one result for each action that was dispatched; else empty.
  public let steps: [DispatchResult]
  /// For a sequence, the number of actions that were not dispatched, because an earlier one failed.
  public let skippedActionCount: Int
  /// The first error, in the order of `stores`; nil on success.
  ///
  /// A store's own error, `CancellationError`, or a `DispatchError`.
  public let error: (any Error)?
  private let identifiers: [String]
  /// By store index; empty where all have finished.
  private let outcomes: [StoreOutcome]
  /// Nil for most.
  private let further: Further?

  /// What a result has besides.
  private final class Further: Sendable {
    /// By store identifier.
    let replies: [String: any Sendable]
    /// By store index: how often each was started; nil where none was more than once.
    let attempts: [Int]?

    init(_ replies: [String: any Sendable], _ attempts: [Int]?) {
      self.replies = replies
      self.attempts = attempts
    }
  }

  /// By store identifier; mostly empty.
  var replies: [String: any Sendable] { further?.replies ?? [:] }

  /// - Parameters:
  ///   - outcomes: By store index; empty where all have finished.
  ///   - attempts: By store index; nil where no store was started more than once.
  init(
    transaction: TransactionID, identifiers: [String] = [], outcomes: [StoreOutcome] = [],
    replies: [String: any Sendable] = [:], attempts: [Int]? = nil, error: (any Error)? = nil
  ) {
    self.transaction = transaction
    further = replies.isEmpty && attempts == nil ? nil : Further(replies, attempts)
    self.identifiers = identifiers
    self.outcomes = outcomes
    self.error = outcomes.isEmpty ? error : error ?? outcomes.lazy.compactMap(\.error).first
    steps = []
    skippedActionCount = 0
  }

  /// Makes the result of a sequence.
  init(
    transaction: TransactionID, steps: [DispatchResult], skippedActionCount: Int,
    error: (any Error)?
  ) {
    self.transaction = transaction
    self.steps = steps
    self.skippedActionCount = skippedActionCount
    self.error = error
    identifiers = []
    outcomes = []
    further = nil
  }

  /// The results of the store runs; for a sequence, one action after the other.
  ///
  /// Computed by each access, in time linear in the stores.
  public var stores: [StoreResult] {
    guard steps.isEmpty else { return steps.flatMap(\.stores) }
    return identifiers.enumerated().map { index, identifier in
      StoreResult(
        storeIdentifier: identifier, outcome: outcomes.isEmpty ? .finished : outcomes[index],
        attemptCount: further?.attempts?[index] ?? 1)
    }
  }

  /// Whether every store run finished; true where no store responded.
  public var isSuccess: Bool { error == nil }

  /// The first error, where it is the dispatcher's; nil also for `CancellationError` and for one of the program.
  public var dispatchError: DispatchError? { error as? DispatchError }

  /// Whether any store responded.
  public var hasResponders: Bool { !identifiers.isEmpty || steps.contains(where: \.hasResponders) }

  /// How the run of the store with this identifier ended; for a sequence, its last run.
  public subscript(storeIdentifier: String) -> StoreOutcome? {
    stores.last { $0.storeIdentifier == storeIdentifier }?.outcome
  }

  /// Returns the result itself where it is a success, and throws `error` otherwise.
  @discardableResult
  public func get() throws -> DispatchResult {
    if let error { throw error }
    return self
  }
}

/// The result of one store run.
public struct StoreResult: Sendable {
  /// The store.
  public let storeIdentifier: String
  /// How its run ended; of several attempts the last one.
  public let outcome: StoreOutcome
  /// How often it was attempted: 1 where the store was not run again, by `DispatchOptions.retrying`.
  public let attemptCount: Int

  init(storeIdentifier: String, outcome: StoreOutcome, attemptCount: Int = 1) {
    self.storeIdentifier = storeIdentifier
    self.outcome = outcome
    self.attemptCount = attemptCount
  }
}

extension DispatchResult: CustomStringConvertible {
  /// The transaction and each store's outcome, on one line.
  public var description: String {
    let runs = stores.map { "\($0.storeIdentifier) \($0.outcome)" }
    let items = runs.isEmpty ? [error.map { "\($0)" } ?? "no store responded"] : runs
    return "\(transaction): " + items.joined(separator: ", ")
  }
}
