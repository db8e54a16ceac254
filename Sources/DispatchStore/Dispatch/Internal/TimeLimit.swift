import Synchronization

/// When a dispatch times out.
struct Deadline {
  /// In nanoseconds of the dispatcher's clock.
  let time: Int64
  /// The nanoseconds from the dispatch to the deadline.
  let nanoseconds: Int64

  init(time: Int64, nanoseconds: Int64) {
    (self.time, self.nanoseconds) = (time, nanoseconds)
  }

  /// So many nanoseconds after a time of the clock.
  init(after nanoseconds: Int64, by now: Int64) {
    self.init(time: now.addingClamped(nanoseconds), nanoseconds: nanoseconds)
  }

  /// The time from the dispatch to the deadline.
  var duration: Duration { .nanoseconds(nanoseconds) }
}

/// A dispatch's time limit.
///
/// That of a record without details is a distant timer, which is set while the record's word has it.
final class TimeLimit: DistantTimer, @unchecked Sendable {
  // because the lock of the dispatch's details guards what changes, and before there are details only one thread after
  // the other has the dispatch
  /// The nanoseconds from the dispatch to the deadline.
  private var nanoseconds: Int64
  /// Which exists as long as the dispatch is pending or runs.
  private var unmanagedDispatcher: Unmanaged<Dispatcher>
  /// The same, once threads take part that do neither.
  private var keptDispatcher: Dispatcher?
  /// The record that has it until there are details; nil where these have it from the beginning.
  private let record: Unmanaged<Dispatch>?
  /// Whether one of two has come: the thread that has scheduled the dispatch, or the one that leaves the limit to details.
  private let isMet = Atomic(false)
  /// Whether what is given out does not wait for the stores' end: not for `.sync`, and in tasks.
  let endsEarly: Bool
  /// Among the dispatcher's timers, of one that details have, until it has fired or was removed.
  var timer: TimerToken?
  /// Whether its only store had begun when other threads began to take part.
  var hasBegun = false
  /// The end at the deadline, once there is something to note.
  private(set) var early: EarlyEnd?

  init(until deadline: Deadline, of dispatcher: Dispatcher, endsEarly: Bool) {
    nanoseconds = deadline.nanoseconds
    unmanagedDispatcher = .passUnretained(dispatcher)
    record = nil
    self.endsEarly = endsEarly
    super.init(at: deadline.time)
  }

  /// Of a record, which releases it before it is gone itself, or leaves it to its details.
  init(of dispatcher: Dispatcher, for record: Dispatch) {
    nanoseconds = 0
    unmanagedDispatcher = .passUnretained(dispatcher)
    self.record = .passUnretained(record)
    endsEarly = true
    super.init(at: .max, in: dispatcher.timers)
  }

  /// For a dispatch of its record; then for the next one, where that one had no details.
  func begin(_ deadline: Deadline, of dispatcher: Dispatcher) {
    self.deadline = deadline.time
    isMet.store(false, ordering: .relaxed)
    nanoseconds = deadline.nanoseconds
    unmanagedDispatcher = .passUnretained(dispatcher)
  }

  /// Whether the thread is the first of the two: that has scheduled the dispatch, or leaves the limit to its details.
  func isFirstToMeet() -> Bool { !isMet.exchange(true, ordering: .acquiringAndReleasing) }

  override var isSet: Bool {
    record?._withUnsafeGuaranteedRef { $0.isSet(self) } ?? false
  }

  override func enterHeap() -> (any TimerTarget)? {
    // One whose word has the limit has not ended, and does not before this thread leaves the queue's lock.
    record?._withUnsafeGuaranteedRef { $0.enterHeap(self) ? $0 : nil }
  }

  /// Its record has found it in the heap, and no longer needs it there.
  func leaveHeap() {
    queue?.unset(self)
  }

  var duration: Duration { .nanoseconds(nanoseconds) }
  var dispatcher: Dispatcher { unmanagedDispatcher.takeUnretainedValue() }

  /// Details have it from now on, perhaps longer than its dispatcher is needed otherwise.
  func keepDispatcher() {
    keptDispatcher = dispatcher
  }

  /// What there is to note of the way to an end at the deadline; nil where no such end comes, or it has.
  var notes: EarlyEnd? {
    guard endsEarly, early?.isClaimed != true else { return nil }
    return earlyEnd()
  }

  /// The deadline has come before the end of the stores; nil where what is given out follows that.
  func claimEnd() -> EarlyEnd? {
    guard endsEarly else { return nil }
    let early = earlyEnd()
    early.isClaimed = true
    return early
  }

  private func earlyEnd() -> EarlyEnd {
    if let early { return early }
    let made = EarlyEnd(hasBegun: hasBegun)
    early = made
    return made
  }

  /// Its timer, as it was set.
  var setTimer: SetTimer { SetTimer(token: timer, dispatcher: unmanagedDispatcher) }

  /// The same, which the caller is about to remove.
  func takeTimer() -> SetTimer {
    defer { timer = nil }
    return setTimer
  }

  /// Whether it no longer concerns the dispatch: it has had no effect, and the timers do not refer to the dispatch.
  var isOver: Bool { timer == nil && early?.isClaimed != true }

  /// A timer of a limit that another thread may have meanwhile; the dispatch still runs.
  struct SetTimer {
    fileprivate let token: TimerToken?
    fileprivate let dispatcher: Unmanaged<Dispatcher>

    func remove() {
      guard let token else { return }
      dispatcher._withUnsafeGuaranteedRef { $0.timers.remove(token) }
    }
  }
}

/// What it takes to end a dispatch at its deadline, while another thread still runs its stores.
final class EarlyEnd: @unchecked Sendable {
  // because the lock of the dispatch's details guards what changes
  /// Whether the deadline has come before the end of the stores.
  var isClaimed = false
  /// What the record had, from then on.
  var completion: Completion?
  private(set) var carried: CapturedTaskLocal?
  /// Which does not end before that completion has: a drain waits for it, and what it dispatches is accepted.
  var generation: DispatchGeneration?
  var result: DispatchResult?
  /// How far the dispatch has come, until the deadline.
  private var identifiers: [String] = []
  private var outcomes: [StoreOutcome] = []
  private var steps: [DispatchResult] = []
  /// Of a sequence.
  var actionCount: Int?
  private let hasBegun: Bool

  /// - Parameter hasBegun: Whether its only store runs, without a note.
  init(hasBegun: Bool) {
    self.hasBegun = hasBegun
  }

  private func begin(_ identifiers: [String]) {
    self.identifiers = identifiers
    outcomes = identifiers.map { _ in .cancelled(hasStarted: hasBegun) }
  }

  /// A store of an inline run starts, or has ended.
  func note(_ outcome: StoreOutcome, at index: Int, of identifiers: [String]) {
    if identifiers.count != self.identifiers.count { begin(identifiers) }
    self.identifiers = identifiers
    outcomes[index] = outcome
  }

  /// An action of a sequence has ended.
  func note(_ step: DispatchResult) {
    steps.append(step)
  }

  /// Takes from the record what the end needs, under the details' lock: the thread that runs the stores uses none of it
  /// before it has found there that their end decides, or that this one does.
  func claim(_ dispatch: Dispatch) {
    completion = dispatch.takeCompletion()
    carried = dispatch.carried?.copy()
    generation =
      dispatch.route?._withUnsafeGuaranteedRef(\.presentGeneration)
      ?? dispatch.sequence?.generation
    if outcomes.isEmpty, let route = dispatch.route {
      begin(route._withUnsafeGuaranteedRef(\.identifiers))
    }
  }

  /// What there is of an inline run or a sequence, beside what runs.
  func result(of id: TransactionID, _ error: DispatchError?) -> DispatchResult {
    guard let actionCount else {
      return DispatchResult(
        transaction: id, identifiers: identifiers, outcomes: outcomes, error: error)
    }
    return DispatchResult(
      transaction: id, steps: steps, skippedActionCount: actionCount - steps.count, error: error)
  }
}

extension DispatchError {
  /// To be made outside of locks, since an action's description is the program's.
  ///
  /// - Parameter obstacle: What it waited for at its gate.
  static func timedOut(
    _ callSite: CallSite, after duration: Duration, waitingFor obstacle: String? = nil
  ) -> DispatchError {
    let waited = obstacle.map { " It waited for \($0)." } ?? ""
    return DispatchError(
      code: .timedOut,
      message: """
        The dispatch at \(callSite) has timed out: it had not ended after \(max(duration, .zero)).\(waited) What \
        had not started by then does not run, and what had is cancelled.
        """,
      callSites: [callSite], timeLimit: max(duration, .zero))
  }
}
