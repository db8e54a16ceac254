/// Reads each commit of a store in its exclusive section, also those that observers are not told of.
private final class CommitWatch<Model: Sendable>: ObserverRecord, @unchecked Sendable {
  // because it is constant
  private let body: @Sendable (Model, UInt64, DispatchID?) -> Void
  private let afterSection: @Sendable () -> Void

  init(
    _ body: @escaping @Sendable (Model, UInt64, DispatchID?) -> Void,
    afterSection: @escaping @Sendable () -> Void
  ) {
    (self.body, self.afterSection) = (body, afterSection)
    super.init()
  }

  override var keepsHidden: Bool { true }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    let model = commit.model.assumingMemoryBound(to: Model.self).pointee
    body(model, commit.version, commit.dispatchID)
    kept.schedule(self)
  }

  override func scheduleCall() { afterSection() }
}

extension Store {
  /// Calls closures with the present model and with each commit, in commit order, until the token is released.
  ///
  /// - Parameters:
  ///   - body: Gets the model, its version, and the dispatch that made the commit. Called in the exclusive section, so
  ///     it must run no code of the program.
  ///   - afterSection: Called after each call of `body`, on the same thread, before that dispatch can end.
  package func watchCommits(
    _ body: @escaping @Sendable (Model, UInt64, DispatchID?) -> Void,
    afterSection: @escaping @Sendable () -> Void
  ) -> ObserverToken {
    observe(CommitWatch(body, afterSection: afterSection), initial: true)
  }
}
