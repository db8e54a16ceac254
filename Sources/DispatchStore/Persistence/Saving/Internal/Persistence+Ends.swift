extension DispatchError {
  static func replaced(
    _ consequence: String, _ storeIdentifiers: [String] = [], isAfterCommit: Bool = false
  ) -> DispatchError {
    DispatchError(
      code: .persistenceFailed,
      message: """
        \(consequence): a store was unregistered, and since then its rows were deleted, or another store has been \
        registered under its identifier. Dispatch the action again: it goes to the stores that are registered then. The \
        former store itself can only be registered again with persisted:.
        """, storeIdentifiers: storeIdentifiers, isAfterCommit: isAfterCommit)
  }

  static func refused(_ error: PersistenceError) -> DispatchError {
    DispatchError(
      code: .persistenceFailed,
      message: "The store was not run, since its state can't be saved any longer: \(error.message)",
      cause: error)
  }
}

extension Persistence {
  /// Lets ends pass; one whose dispatch has timed out only lets the next ones of its lanes pass.
  func resume(_ ends: [PendingEnd]) {
    var rest = ends[...]
    while let end = rest.popFirst() {
      if !end.resume() { rest += nextEnds(after: end) }
    }
  }

  func nextEnds(after end: PendingEnd) -> [PendingEnd] {
    state.withLock { $0.commit.left(end) }
  }
}
