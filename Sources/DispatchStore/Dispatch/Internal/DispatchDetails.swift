import Synchronization

/// What a dispatch has that others take part in, beyond a straight run through its stores.
///
/// One that can't run straight begins with it. Any other one gets it when somebody awaits or cancels it,
/// or when one of its stores can't end at once.
final class DispatchDetails: @unchecked Sendable {
  // because what is not constant or in `state` belongs to the step that runs
  /// Nil until the dispatch has handed over its own state.
  let state: Locked<DispatchState?>
  /// Whether the state says how it ended: looked at without the lock, which the end itself needs.
  let hasEnded = Atomic(false)
  var request: DispatchRequest?
  var mode = Dispatcher.Mode.async
  /// Until the end.
  var dispatcher: Dispatcher?
  /// Guarded by `state`.
  private var knownScheduler: Scheduler?
  /// The context that a `.sync` dispatch holds up, until the end.
  var outer: DispatchContext?
  /// Guarded by the wait graph: the dispatches that this one waits for while it runs.
  var waits: [Dispatch] = []
  var taskLocals: [CapturedTaskLocal] = []
  var plan: DispatchPlan?
  var results: [DispatchResult] = []
  /// Those that heard of its beginning, until the end.
  var witnesses: [any DispatchWitness] = []

  /// For a dispatch that others begin to take part in.
  init() {
    state = Locked(nil)
  }

  /// For a dispatch that is about to end, and of which somebody may want to know how.
  init(endingAt scheduler: Scheduler?) {
    var ending = DispatchState(isRunning: true)
    ending.beginEnding()
    state = Locked(ending)
    knownScheduler = scheduler
  }

  /// For a dispatch that can't run straight.
  init(
    _ request: DispatchRequest, by dispatcher: Dispatcher, at scheduler: Scheduler,
    outer: DispatchContext?
  ) {
    state = Locked(DispatchState(before: request.options.after.compactMap(\.dispatch)))
    self.request = request
    mode = request.mode
    self.dispatcher = dispatcher
    knownScheduler = scheduler
    self.outer = outer
    taskLocals = dispatcher.carriedTaskLocals.map { $0.capture() }
  }

  var scheduler: Scheduler? {
    get { state.withLock { _ in knownScheduler } }
    set { state.withLock { _ in knownScheduler = newValue } }
  }

  /// Takes over the state of a dispatch, unless somebody was faster.
  func adopt(_ state: () -> (DispatchState, Scheduler?)) {
    self.state.withLock { present in
      if present == nil { (present, knownScheduler) = state() }
    }
  }

  /// Commits of the store that runs straight that were left to other threads; guarded by `state`.
  private var untold = 0
  /// Who hears that they were told; guarded likewise.
  private var continuation: Continuation?

  private struct Continuation {
    let round: Round
    let place: Int
  }

  var hasUntoldCommits: Bool { state.withLock { _ in untold > 0 } }

  func commitDeferred() {
    state.withLock { _ in
      if let continuation {
        continuation.round.commitDeferred(at: continuation.place)
      } else {
        untold += 1
      }
    }
  }

  func commitDelivered() {
    let present = state.withLock { _ -> Continuation? in
      if continuation == nil { untold -= 1 }
      return continuation
    }
    if let present { present.round.commitDelivered(at: present.place) }
  }

  /// A round goes on with a straight run; whether it is to be cancelled first.
  func goOn(with round: Round, at place: Int) -> Bool {
    state.withLock { state in
      for _ in 0..<untold { round.commitDeferred(at: place) }
      continuation = Continuation(round: round, place: place)
      return state!.begin(round) && !isPlanted(.lostCancellation)
    }
  }

  /// Lets go of what only the way to the end needed: chains of handles and closures end here.
  func clear() {
    let request = request
    self.request = nil
    (results, taskLocals, outer, dispatcher, witnesses) = ([], [], nil, nil, [])
    state.withLock { _ in continuation = nil }
    withExtendedLifetime(request) {}
  }

  /// Lets those go on who wait for the end.
  func tellWaiters(_ result: DispatchResult) {
    // Under the lock: whoever finds there that it has ended finds the result, too.
    let waiters = withState { state in
      hasEnded.store(true, ordering: .releasing)
      return state.end(result)
    }
    guard !waiters.isEmpty else { return }
    ThreadState.current.hasResumedOthers = true
    for waiter in waiters { waiter() }
  }

  @inline(__always)
  func withState<Result>(_ body: (inout DispatchState) -> Result) -> Result {
    state.withLock { body(&$0!) }
  }
}
