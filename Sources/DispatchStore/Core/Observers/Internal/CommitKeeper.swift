/// Keeps its part of every commit of one store, also of those that observers are not told of.
///
/// Persistence has a subclass. It is no observer: it has no turn, and can't be cancelled.
@usableFromInline
class CommitKeeper: @unchecked Sendable {  // because a subclass says why
  /// The gate at which dispatches to the store wait after their stores.
  var gate: EndGate { fatalError("CommitKeeper is abstract.") }

  /// Reads its part of a commit, in the commit's exclusive section; `keepRead` follows there.
  func read(_ commit: CommitInProgress) { fatalError("CommitKeeper is abstract.") }

  /// Keeps what was read of the commits of several stores, which are one, in their exclusive sections.
  ///
  /// - Parameters:
  ///   - keepers: The keepers of these stores, this one first; none if there are rows only.
  ///   - rows: Further rows of the same commit.
  /// - Returns: Whether to call `kept` once the sections have ended.
  func keepRead(together keepers: [CommitKeeper], with rows: [CompanionRow]) -> Bool {
    fatalError("CommitKeeper is abstract.")
  }

  /// Does the work for a kept commit that must not be done in its section.
  func kept() { fatalError("CommitKeeper is abstract.") }
}
