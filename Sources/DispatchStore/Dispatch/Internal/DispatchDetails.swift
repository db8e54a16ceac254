import Synchronization

/// What a dispatch has once several threads take part in it: its state behind a lock, and what only rounds,
/// sequences and waits need.
final class DispatchDetails: @unchecked Sendable {
  // because what is not constant or behind the lock belongs to the step that runs
  private let state: Locked<Guarded>
  /// Whether the state has a result: read without the lock, which the end itself needs.
  let hasEnded = Atomic(false)
  /// For the rounds of the dispatch, until the end.
  var dispatcher: Dispatcher?
  /// Guarded by the wait graph: what this one waits for while it runs, and whether a search has reached it.
  var waits: [Int: WaitGraph.Edge] = [:]
  var isReached = false

  private struct Guarded {
    var life: DispatchState
    /// Where steps run, of a dispatch that has several: kept, since operations report on any thread.
    var scheduler: Scheduler?
    /// Commits of the inline run's present store that were deferred.
    var undelivered = 0
    /// What stores have replied, by their identifiers.
    var replies: [String: any Sendable] = [:]
    /// The round that goes on with the inline run, and the index of that store.
    var successor: (round: Round, index: Int)?
  }

  init(_ life: DispatchState) {
    state = Locked(Guarded(life: life))
  }

  /// Makes them, or uses this thread's spare ones.
  static func make(isRunning: Bool) -> DispatchDetails {
    let life = DispatchState(isRunning: isRunning)
    guard let spare = ThreadState.current.takeSpareDetails() else { return DispatchDetails(life) }
    spare.withState { $0 = life }
    return spare
  }

  /// Whether there is nothing in them that concerns the end.
  var isForgettable: Bool {
    state.withLock { $0.life.isUndisturbed && $0.replies.isEmpty }
  }

  /// Makes them as they were at first, where nothing else refers to them.
  func reset() {
    clear()
    hasEnded.store(false, ordering: .relaxed)
    (waits, isReached) = ([:], false)
    var fresh = Guarded(life: DispatchState(isRunning: false))
    if isPlanted(.keptReplies) { fresh.replies = replies }
    // The former one is released outside of the lock.
    state.withLock { swap(&$0, &fresh) }
  }

  func withState<Result>(_ body: (inout DispatchState) -> Result) -> Result {
    state.withLock { body(&$0.life) }
  }

  var scheduler: Scheduler? {
    get { state.withLock { $0.scheduler } }
    set { state.withLock { $0.scheduler = newValue } }
  }

  /// Makes a transition; with the scheduler, if the dispatch needs it, which it may leave from then on.
  ///
  /// - Parameter queued: The scheduler that it is queued at, which exists as long as the dispatch needs it.
  func withScheduler<Result>(
    queuedAt queued: () -> Scheduler, _ body: (inout DispatchState, Scheduler?) -> Result
  ) -> Result {
    state.withLock { state in
      let needed = state.life.needsScheduler ? state.scheduler ?? queued() : nil
      return body(&state.life, needed)
    }
  }

  // MARK: Replies

  var replies: [String: any Sendable] { state.withLock { $0.replies } }

  func keep(_ reply: any Sendable, of storeIdentifier: String) {
    // A former reply is released outside of the lock.
    let former = state.withLock { $0.replies.updateValue(reply, forKey: storeIdentifier) }
    withExtendedLifetime(former) {}
  }

  // MARK: Deferred commits

  var undeliveredCount: Int {
    state.withLock { state in
      guard let (round, index) = state.successor else { return state.undelivered }
      return round.undeliveredCount(at: index)
    }
  }

  var hasUndeliveredCommits: Bool { state.withLock { $0.undelivered > 0 } }

  func commitDeferred() {
    state.withLock { state in
      if let (round, index) = state.successor {
        round.commitDeferred(at: index)
      } else {
        state.undelivered += 1
      }
    }
  }

  func commitDelivered() {
    let successor = state.withLock { state in
      if state.successor == nil { state.undelivered -= 1 }
      return state.successor
    }
    if let (round, index) = successor { round.commitDelivered(at: index) }
  }

  /// A round goes on after an inline run; whether it is to be cancelled first.
  ///
  /// - Parameter index: The store whose deferred commits it takes over.
  func begin(_ round: Round, at index: Int) -> Bool {
    state.withLock { state in
      for _ in 0..<state.undelivered { round.commitDeferred(at: index) }
      state.successor = (round, index)
      return state.life.begin(.round(round)) && !isPlanted(.lostCancellation)
    }
  }

  // MARK: The end

  /// Releases what only the way to the end needed: chains of handles and closures end here.
  func clear() {
    dispatcher = nil
    state.withLock { $0.successor = nil }
  }

  /// Resumes those that wait for the end.
  func end(_ result: DispatchResult) {
    // Under the lock: a thread that finds there that the dispatch has ended finds the result, too.
    let waiters = withState { state in
      hasEnded.store(true, ordering: .releasing)
      return state.end(result)
    }
    guard !waiters.isEmpty else { return }
    ThreadState.current.hasResumedOthers = true
    for waiter in waiters { waiter() }
  }
}
