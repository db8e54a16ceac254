/// An attempt of a durable effect's run to do its work.
struct DurableAttempt {
  let effect: DurableEffect
  let outbox: Outbox
  let run: EffectRun
  let entry: OutboxEntry

  /// Makes the attempt; returns the pause before another one, if that follows.
  func make() async -> Duration? {
    yieldPoint(.beginEffect)
    // Nothing would be saved of it, and the database may have an owner that does the work.
    if hasFailedToSave { return nil }
    let before = entry.progress
    if before.wasLeft {
      guard await outbox.countAhead(entry, of: effect.attemptCount) else {
        let progress = entry.progress
        if progress.failed != nil, let error = progress.error { reportLetter(error) }
        return nil
      }
    }
    // Last, since saving the count may take longer than the lease.
    let isOwner = await outbox.keeper?.isOwner() ?? true
    // Both may take long, and the work may have been removed meanwhile.
    guard isOwner, run.mayCallBody else {
      outbox.uncount(entry)
      return nil
    }
    var isRemoved = false
    do {
      let next = try await run.withTimeLimit(effect.attemptTimeout) {
        try await work(before.attempts + 1)
      }
      if let next { isRemoved = try await dispatch(next) }
    } catch {
      if isOfTheEnd(error) || !run.isActive {
        outbox.uncount(entry)
        return nil
      }
      return noteFailure(error) ? pause : nil
    }
    if !isPlanted(.effectRemovedFirst) { outbox.done(entry, isRemoved: isRemoved) }
    return nil
  }

  private var hasFailedToSave: Bool { outbox.keeper?.hasFailed() == true }

  /// Whether the next process does the work, since this one saves nothing any longer, or the dispatcher ends; the error
  /// may be that of another one.
  private func isOfTheEnd(_ error: any Error) -> Bool {
    let code = (error as? DispatchError)?.code
    return hasFailedToSave
      || (code == .dispatcherClosed || code == .leftToAnotherProcess) && run.dispatcher.isClosed
  }

  private func work(_ number: Int) async throws -> (any ActionType)? {
    let context = EffectContext(run, key: entry.key, attempt: number)
    guard let action = entry.action else { return nil }
    if let reconcile = effect.reconcile, entry.progress.wasLeft {
      switch try await reconcile(action, context) {
      case .done(let next): return next
      case .runAgain: entry.withProgress { $0.reconciled() }
      }
    }
    return try await effect.body(action, context)
  }

  /// Dispatches the action that says that the work is done; returns whether its commit removes the row.
  private func dispatch(_ action: any ActionType) async throws -> Bool {
    let end = OutboxEnd(entry, by: action)
    guard entry.withProgress({ $0.beginEnd() }) else { throw CancellationError() }
    if isPlanted(.effectRemovedFirst) { outbox.done(entry, isRemoved: false) }
    // Without a default time limit: the action would commit after it, and be dispatched again. And without default
    // limits and bounds: if they refused the action, the body would run again, and reach the outside world twice.
    let options = DispatchOptions.timeout(nil).controlled {
      ($0.companions, $0.namesLimits, $0.takesBounds) = ([end], true, false)
    }
    let result = await run.dispatcher.dispatch(
      action, to: nil, .async, options, nil, effect.callSite
    ).result
    guard let error = result.error, !end.isKept else { return end.isKept }
    entry.withProgress { $0.endHasFailed() }
    // The client is being cancelled, and the cancellation has not reached this run yet. The work has not failed: another
    // run does it. An action that is cancelled alone has failed, or it would be repeated for ever.
    if error is CancellationError, run.isBeingCancelled { run.cancel() }
    throw error
  }

  /// Notes a failed attempt; returns whether another one follows.
  private func noteFailure(_ error: any Error) -> Bool {
    switch outbox.failed(entry, error, of: effect.attemptCount) {
    case .isRetried:
      report(
        .effectFailed, "\(error)",
        outbox.isClosed ? "The next process runs it again." : "It is run again.")
      return true
    case .isDeadLetter: reportLetter("\(error)")
    case .isRemoved: break
    }
    return false
  }

  private func reportLetter(_ error: String) {
    report(.deadLetter, error, "It is kept as a dead letter.")
  }

  private func report(_ kind: DispatchWarning.Kind, _ error: String, _ next: String) {
    let bound = effect.attemptCount == .max ? "" : " of \(effect.attemptCount)"
    run.dispatcher.report(
      kind,
      """
      The durable effect "\(effect.name)" failed in dispatcher "\(run.dispatcher.name)", attempt \
      \(entry.progress.attempts)\(bound): \(error). \(next)
      """)
  }

  private var pause: Duration {
    run.pause(of: effect.backoff, after: entry.progress.attempts)
  }
}

/// Removes the row of work in the commit of the action that says that it is done.
final class OutboxEnd: DispatchCompanion, @unchecked Sendable {
  // because `kept` is locked
  private let entry: OutboxEntry
  private let action: any ActionType.Type
  private let kept = Locked(false)

  init(_ entry: OutboxEntry, by action: any ActionType) {
    (self.entry, self.action) = (entry, type(of: action))
  }

  override var errorIfUnanswered: DispatchError? {
    DispatchError(
      code: .notRegistered,
      message: """
        No registered store handles \(action), which the durable effect has returned. Register the store before \
        resumeWork(), and unregister the effect before the store.
        """)
  }

  /// Whether the row is removed by a commit of the action.
  var isKept: Bool { kept.withLock { $0 } }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] { keep() }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    isKept || !result.isSuccess ? [] : keep()
  }

  private func keep() -> [CompanionRow] {
    kept.withLock { $0 = true }
    return [entry.removal]
  }
}

/// Saves the row of work in the commit of the action that causes it.
final class OutboxBeginning: DispatchCompanion, @unchecked Sendable {
  // because it has only constants
  private let outbox: Outbox
  private let effect: String
  private let dispatch: DispatchID
  private let action: any ActionType

  init(_ outbox: Outbox, _ effect: String, _ dispatch: DispatchID, _ action: any ActionType) {
    (self.outbox, self.effect, self.dispatch, self.action) = (outbox, effect, dispatch, action)
  }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] {
    if outbox.keeper == nil { return [] }
    return [outbox.commit(dispatch, effect, action).row]
  }
}
