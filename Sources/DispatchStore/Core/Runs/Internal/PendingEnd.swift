import Synchronization

/// The end of a dispatch that waits at a gate.
final class PendingEnd: LaneTurn, @unchecked Sendable {
  // because the gate's lock guards its mutable state
  let dispatch: Dispatch
  /// The round of an action; nil for a sequence, which keeps its lane.
  let round: Round?
  let gate: EndGate
  /// The scheduler of the remaining steps.
  let place: Scheduler
  /// The lanes in whose order the end comes.
  let lanes: [LaneIdentity]
  var keepsPlace: Bool { round == nil }
  /// Whether it is that of a sequence which was cancelled between two actions, while the queue was suspended.
  ///
  /// Its place may have a drainer that the queue holds back, and with it each step.
  let isInPause: Bool
  /// The number of the last commit before its stores began: its own commits have higher numbers.
  let start: UInt64
  private let hasLeft = Atomic(false)
  /// The number of commits that must be saved.
  var commitNumber: UInt64 = 0
  /// The number of lanes in which another end comes before this one.
  var missing = 0
  var isSaved = false
  /// The reason why the commits are not saved.
  var error: DispatchError?

  init(
    of dispatch: Dispatch, _ round: Round?, since start: UInt64, at gate: EndGate,
    from scheduler: Scheduler, inPause: Bool = false
  ) {
    (self.dispatch, self.round, self.start, self.gate) = (dispatch, round, start, gate)
    isInPause = inPause
    lanes = scheduler.place.turns(of: dispatch).map { $0.lane.identity }
    let staysHere = round == nil || scheduler.isTask || dispatch.isSynchronous
    place = staysHere ? scheduler : AfterLane.make(scheduler)
  }

  /// Lets the next end of its lanes pass: the dispatch has ended, or its code blocks and may wait for that one.
  func leave() {
    if !hasLeft.exchange(true, ordering: .acquiringAndReleasing) { gate.left(self) }
  }

  /// Continues with the end, at its place.
  ///
  /// Returns false, without an effect, if the dispatch has timed out: then its place may be gone.
  func resume() -> Bool {
    guard dispatch.endSaving(self) else { return false }
    proceed { self.dispatch.finish(self) }
    return true
  }

  /// Continues with the end of a dispatch that has timed out, at its place.
  func resumeEarly() {
    let end: @Sendable () -> Void = { self.dispatch.completeSaved(self) }
    // Actions may block all places of the queue.
    if !isInPause, let pool = place as? ConcurrentPool { return pool.submit(end: .step(end)) }
    proceed(end)
  }

  private func proceed(_ step: @escaping @Sendable () -> Void) {
    if isInPause { place.endCancelled(step) } else { place.resume(step) }
  }
}

/// The place of steps that follow once a dispatch has left its lane.
private final class AfterLane: Scheduler, @unchecked Sendable {
  // because it has only constants
  private let pool: ConcurrentPool

  private init(_ pool: ConcurrentPool) { self.pool = pool }

  static func make(_ scheduler: Scheduler) -> Scheduler {
    guard let pool = scheduler.workers else { return scheduler }
    return scheduler.needsMainQueue ? AfterLane(pool) : pool
  }

  override var workers: ConcurrentPool? { pool }
  override var needsMainQueue: Bool { true }
  override var description: String { "the main queue" }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    MainQueue.run(in: pool.world, step)
  }
}
