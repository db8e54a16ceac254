/// How the stores of an atomic action have ended: all as finished, or none.
struct AtomicOutcome: Sendable {
  /// The outcomes by store index; empty if all have finished.
  let outcomes: [StoreOutcome]
  /// The error of the first store that did not finish, because of which the others are as before.
  let error: (any Error)?
  /// Whether a retry may follow: false if that store was vetoed or cancelled, or its reducer was not called.
  let mayRepeat: Bool
  /// The number of stores, from the first on, whose reducers were called.
  private let begunCount: Int

  /// Creates the outcome of an action that all stores have finished.
  init() {
    (outcomes, error, mayRepeat, begunCount) = ([], nil, false, Int.max)
  }

  /// Creates the outcome of an action that was undone, or not begun, because of these stores.
  ///
  /// - Parameters:
  ///   - failures: Store indices with their outcomes, in order; not empty.
  ///   - wasBegun: Whether the reducer of the first one was called.
  init(
    failedBy failures: [(index: Int, outcome: StoreOutcome)], along route: Route,
    wasBegun: Bool = false
  ) {
    let first = failures[0]
    let error = first.outcome.error
    var outcomes = route.identifiers.map { identifier -> StoreOutcome in
      .failed(
        DispatchError.undone(identifier, by: route.identifiers[first.index], error))
    }
    for failure in failures { outcomes[failure.index] = failure.outcome }
    self.outcomes = outcomes
    self.error = error
    mayRepeat = wasBegun && first.outcome.isFailed
    begunCount = wasBegun ? first.index + 1 : 0
  }

  /// Creates the outcome of an action that was cancelled before it began.
  ///
  /// - Parameter hasStarted: Whether an attempt before has called reducers.
  init(cancelledAlong route: Route, hasStarted: Bool) {
    outcomes = route.identifiers.map { _ in .cancelled(hasStarted: hasStarted) }
    (error, mayRepeat, begunCount) = (nil, false, 0)
  }

  /// Whether a store's reducer was called.
  func hasBegun(_ index: Int) -> Bool { index < begunCount }

  subscript(index: Int) -> StoreOutcome { outcomes.isEmpty ? .finished : outcomes[index] }
}
