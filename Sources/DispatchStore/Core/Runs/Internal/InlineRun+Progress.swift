// How far a run has come, and how it stands.
extension InlineRun {
  /// Makes a run atomic that has no record.
  mutating func becomeAtomic() {
    isMarkedAtomic = true
    isPlain = false
  }

  /// Whether all stores change, or none.
  var isAtomic: Bool {
    isMarkedAtomic || route._withUnsafeGuaranteedRef(\.isAtomic)
      || record?._withUnsafeGuaranteedRef { $0.withDetails { $0.isAtomic(along: route) } } == true
  }

  /// The companions whose rows are part of an atomic action's commit; none for most.
  var companions: [DispatchCompanion] {
    record?._withUnsafeGuaranteedRef { $0.withDetails(\.companions) } ?? []
  }

  /// Notes that the current store has begun.
  mutating func noteBegun(_ step: InlineStep) {
    begun = step
    isPlain = false
  }

  /// Whether the next store needs no check of verdicts, outcomes or a cancellation.
  var isUndisturbed: Bool { isPlain && hasNoDetails }

  /// Whether nothing can have cancelled it, and no deadline is to be compared.
  var hasNoDetails: Bool {
    guard let record else { return true }
    return record._withUnsafeGuaranteedRef { !$0.hasDetails }
  }

  /// Whether the stores are to run concurrently, since one may block; false in a task.
  var needsConcurrency: Bool {
    place == nil && route._withUnsafeGuaranteedRef { !$0.isInlineConcurrently }
      && record?._withUnsafeGuaranteedRef(\.runsConcurrently) == true
  }

  mutating func takeCompletion() -> Completion? {
    record?._withUnsafeGuaranteedRef { $0.completion.take() } ?? completion.take()
  }

  /// Whether only the end of a `.sync` run is left: all stores before this position have finished, and it is the
  /// last.
  func isDone(at position: Int) -> Bool {
    isPlain && completion == nil && record == nil && session == nil
      && route._withUnsafeGuaranteedRef { position == $0.count && !$0.hasFailed }
  }

  mutating func note(_ outcome: StoreOutcome, at index: Int, of route: Route) {
    if outcomes.isEmpty { outcomes = Array(repeating: .finished, count: route.count) }
    outcomes[index] = outcome
    isPlain = false
  }

  /// Skips the current store, which ends with this outcome.
  mutating func skip(_ outcome: StoreOutcome) -> InlineStep {
    skippedCount += 1
    // If all stores so far were skipped, none has started: not even one that is gone, whose start was noted.
    if skippedCount > index { session?._withUnsafeGuaranteedRef { $0.forgetFirstStart() } }
    return .ended(outcome)
  }

  /// Notes that the first store starts, if whole dispatches have hooks.
  func noteFirstStart() {
    session?._withUnsafeGuaranteedRef { if $0.hasWholes { $0.noteFirstStart(at: $0.now) } }
  }

  /// Notes that a store starts; returns false if the dispatch has ended at its deadline.
  func claimStoreStart() -> Bool {
    record?._withUnsafeGuaranteedRef { $0.withDetails { $0.claimStoreStart() } } ?? true
  }

  /// Whether the result may come before the end of the stores.
  var mayEndEarly: Bool {
    record?._withUnsafeGuaranteedRef { $0.withDetails(\.mayEndEarly) } == true
  }

  /// Whether it runs at a scheduler: no caller waits for it.
  var isScheduled: Bool {
    place != nil || record?._withUnsafeGuaranteedRef { !$0.isSynchronous } == true
  }

  /// Whether a failed store may be retried, which only a round can do.
  var mayRetry: Bool {
    record?._withUnsafeGuaranteedRef {
      $0.withDetails { $0.retry != nil } == true && !$0.isCancelled
    }
      == true
  }

  /// Whether it was queued, by a caller that did not wait.
  var isQueued: Bool {
    place == nil && record?._withUnsafeGuaranteedRef { !$0.isSynchronous && !$0.isOfTask } == true
  }

  var isCancelled: Bool {
    record?._withUnsafeGuaranteedRef(\.isCancelled) == true
  }

  var hasFinished: Bool {
    outcomes.isEmpty && route._withUnsafeGuaranteedRef { !$0.hasFailed }
  }

  var result: DispatchResult { result(of: record?.takeUnretainedValue()) }

  /// The result at the deadline if the dispatch has ended then, or else that of its stores.
  var publishedResult: DispatchResult { record?.takeUnretainedValue().result ?? result }

  /// - Parameter record: The run's record, which the end has taken from it.
  func result(of record: Dispatch?) -> DispatchResult {
    let (replies, refusal) =
      record?.withDetails { $0.withState { ($0.replies, $0.refusal) } } ?? ([:], nil)
    return route._withUnsafeGuaranteedRef { route in
      let unanswered =
        route.isUnanswered
        ? record?.details?.companions.lazy.compactMap(\.errorIfUnanswered).first : nil
      return DispatchResult(
        dispatchID: dispatchID, identifiers: route.identifiers, outcomes: outcomes,
        replies: replies,
        // An atomic action that has failed was undone.
        hasBegun: atomicOutcome == nil && skippedCount < route.count
          && outcomes.contains(where: \.mayHaveStarted),
        // The reason of a cancellation because of a deadlock or a timeout.
        error: refusal ?? route.failure ?? unanswered ?? atomicOutcome?.error)
    }
  }
}
