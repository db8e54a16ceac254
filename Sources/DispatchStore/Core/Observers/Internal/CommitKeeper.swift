/// Keeps its part of every commit of one store, also of those that observers are not told of.
///
/// Persistence has a subclass. It is no observer: it has no turn, and can't be cancelled.
@usableFromInline
class CommitKeeper: @unchecked Sendable {  // because a subclass says why
  /// The gate at which dispatches to the store wait after their stores.
  var gate: EndGate { fatalError("CommitKeeper is abstract.") }

  /// Keeps its part of a commit, in the commit's exclusive section.
  ///
  /// - Returns: Whether to call `kept` once the section has ended.
  func keep(_ commit: CommitInProgress) -> Bool { fatalError("CommitKeeper is abstract.") }

  /// Does the work for a kept commit that must not be done in its section.
  func kept() { fatalError("CommitKeeper is abstract.") }
}
