import Synchronization

/// Holds dispatches back at their end, until the commits that their stores have made are saved.
///
/// Persistence has a subclass. A dispatch to a store with such a gate runs in a round. When its stores have ended, its
/// place becomes free: its lane goes on. Its `didDispatch`, its completion and its result follow once the gate lets it
/// pass, in the order of its lane.
class EndGate: @unchecked Sendable {  // because a subclass says why
  /// The error with which stores are not run any longer; nil if nothing has failed.
  var refusal: DispatchError? { fatalError("EndGate is abstract.") }

  /// The error with which its own store is not run any longer.
  var refusalOfStore: DispatchError? { fatalError("EndGate is abstract.") }

  /// Decides whether stores may start now; if they have to wait, resumes the start once they may.
  ///
  /// - Parameter mayReject: Whether the start may fail; if not, it waits instead.
  func admit(_ start: HeldStart, mayReject: Bool) -> Admission {
    fatalError("EndGate is abstract.")
  }

  /// Forgets a start that waits no longer; the caller releases it outside of the gate's lock.
  func forget(_ start: HeldStart) { fatalError("EndGate is abstract.") }

  enum Admission {
    case starts
    case waits
    case fails(DispatchError)
  }

  /// The number of the last commit.
  var commitNumber: UInt64 { fatalError("EndGate is abstract.") }

  /// Keeps rows as a commit of their own.
  func keep(_ rows: [CompanionRow]) { fatalError("EndGate is abstract.") }

  /// Enters the end of a dispatch whose stores have ended.
  ///
  /// Called before its place is free, so that ends come in the order of the lane.
  ///
  /// - Returns: Whether it may pass now. Otherwise the gate resumes it later.
  func enter(_ end: PendingEnd) -> Bool { fatalError("EndGate is abstract.") }

  /// Saves commits on this thread until the end may pass, or until another thread does it.
  ///
  /// Called by a thread that would block otherwise.
  func lead(_ end: PendingEnd) { fatalError("EndGate is abstract.") }

  /// Notes that the end has passed: the next one of its lanes may.
  func left(_ end: PendingEnd) { fatalError("EndGate is abstract.") }

  /// Lets an end pass that may.
  func resume(_ end: PendingEnd) { fatalError("EndGate is abstract.") }
}

/// The start of stores that may have to wait at a gate.
final class HeldStart: Sendable {
  let resume: @Sendable () -> Void

  init(resume: @escaping @Sendable () -> Void) { self.resume = resume }
}

/// The end of a dispatch that waits at a gate.
final class PendingEnd: @unchecked Sendable {
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
