/// How a dispatch ended: store by store, in the order in which the stores were to run.
public struct DispatchResult: Sendable {
  /// The dispatch.
  public let transaction: TransactionID
  /// Of `dispatch(actions:)`, one result for each action that was dispatched; else empty.
  public let steps: [DispatchResult]
  /// Of `dispatch(actions:)`, how many actions were not dispatched, because an earlier one failed.
  public let skippedActionCount: Int
  /// The first error, in the order of `stores`; nil on success.
  ///
  /// A store's own error, `CancellationError`, or a `DispatchError`.
  public let error: (any Error)?
  private let identifiers: [String]
  /// By store; empty where all have finished.
  private let outcomes: [StoreOutcome]

  /// - Parameter outcomes: By store; empty where all have finished.
  init(
    transaction: TransactionID, identifiers: [String] = [], outcomes: [StoreOutcome] = [],
    error: (any Error)? = nil
  ) {
    self.transaction = transaction
    self.identifiers = identifiers
    self.outcomes = outcomes
    self.error = error ?? outcomes.lazy.compactMap(\.error).first
    steps = []
    skippedActionCount = 0
  }

  /// Of several actions.
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
  }

  /// The part of each store that took part; for several actions, one action after the other.
  ///
  /// Made when asked for: linear in the stores.
  public var stores: [StoreResult] {
    guard steps.isEmpty else { return steps.flatMap(\.stores) }
    return identifiers.enumerated().map { place, identifier in
      StoreResult(
        storeIdentifier: identifier, outcome: outcomes.isEmpty ? .finished : outcomes[place])
    }
  }

  /// Whether every part finished; also where no store responded.
  public var isSuccess: Bool { error == nil }

  /// Whether any store took part.
  public var hasResponders: Bool { !identifiers.isEmpty || steps.contains(where: \.hasResponders) }

  /// How the part of the store with this identifier ended, the last one for several actions.
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

/// One store's part in a dispatch.
public struct StoreResult: Sendable {
  /// The store.
  public let storeIdentifier: String
  /// How its part ended.
  public let outcome: StoreOutcome
}

extension DispatchResult: CustomStringConvertible {
  /// The transaction and each store's outcome, on one line.
  public var description: String {
    let parts = stores.map { "\($0.storeIdentifier) \($0.outcome)" }
    let told = parts.isEmpty ? [error.map { "\($0)" } ?? "no store responded"] : parts
    return "\(transaction): " + told.joined(separator: ", ")
  }
}
