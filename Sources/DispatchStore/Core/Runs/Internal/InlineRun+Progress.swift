// How far a run has come, and how it stands.
extension InlineRun {
  /// Whether the next store needs no call of hooks, and nothing can have cancelled the dispatch.
  var isUndisturbed: Bool {
    guard !followsStores else { return false }
    guard let record else { return true }
    return record._withUnsafeGuaranteedRef { !$0.hasDetails }
  }

  /// Whether middlewares have done more than let all stores have the action.
  var hasReplies: Bool { session?._withUnsafeGuaranteedRef(\.hasReplies) == true }

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
    completion == nil && record == nil && session == nil
      && route._withUnsafeGuaranteedRef { position == $0.count && !$0.hasFailed }
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

  /// Whether it was queued, by a caller that did not wait.
  var isQueued: Bool {
    place == nil && record?._withUnsafeGuaranteedRef { !$0.isSynchronous && !$0.isOfTask } == true
  }

  var isCancelled: Bool {
    record?._withUnsafeGuaranteedRef(\.isCancelled) == true
  }

  /// Whether a run whose stores have finished ends as a success: the route has no error.
  var hasFinished: Bool { route._withUnsafeGuaranteedRef { !$0.hasFailed } }

  /// The result of a run whose stores have finished.
  var result: DispatchResult { result(of: record?.takeUnretainedValue()) }

  /// The result at the deadline if the dispatch has ended then, or else that of its stores.
  var publishedResult: DispatchResult { record?.takeUnretainedValue().result ?? result }

  /// - Parameter record: The run's record, which the end has taken from it.
  func result(of record: Dispatch?) -> DispatchResult {
    let (replies, refusal) =
      record?.withDetails { $0.withState { ($0.replies, $0.refusal) } } ?? ([:], nil)
    return route._withUnsafeGuaranteedRef { route in
      DispatchResult(
        dispatchID: dispatchID, identifiers: route.identifiers, replies: replies,
        // The reason of a cancellation because of a deadlock or a timeout.
        error: refusal ?? route.error(with: record?.withDetails(\.companions)))
    }
  }
}
