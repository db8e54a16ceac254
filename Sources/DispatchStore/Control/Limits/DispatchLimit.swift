import Synchronization

/// A bound on the number of dispatches in flight, and the treatment of dispatches above it.
///
/// A dispatch is counted from when it is accepted until its stores have ended, however it ends. Make one limit for
/// all dispatches that you bound together, and name it in their options (`DispatchOptions.limited(by:)`). Or give a
/// dispatcher limits for its lanes and its queue (`DispatchLimits`). Several dispatchers may share a limit, from any
/// thread.
public final class DispatchLimit: Sendable {
  /// The treatment of a dispatch that comes when the limit is reached.
  public enum Overflow: Sendable, Hashable, CaseIterable {
    /// The dispatch ends at once, with a `DispatchError` of the code `limitExceeded`.
    case reject
    /// The dispatch ends at once, as dropped: with the code `dropped`.
    case dropNewest
    /// The oldest dispatch that has not started ends as dropped, and the new one takes its place.
    ///
    /// If all have started, the new one is dropped.
    case dropOldest
    /// The dispatch waits until another one has ended, first in, first out.
    ///
    /// A task that sends it suspends, and a thread that dispatches it blocks before `dispatch` returns. The dispatch
    /// ends with `wouldDeadlock` instead if the thread may not block: in a lane, on the concurrent queue, on the main
    /// queue, on a thread for tasks. It also does so if it is made inside one that has a unit of the same limit, or if all
    /// that have units wait for it.
    case wait
  }

  /// The counts of a limit at one instant.
  public struct Statistics: Sendable, Equatable {
    /// The number of dispatches that may be in flight.
    public let bound: Int
    /// The number of dispatches in flight.
    public let inFlight: Int
    /// The number of dispatches that wait to be accepted.
    public let waiting: Int
    /// The number of dispatches accepted so far.
    public let admitted: Int
    /// The number of dispatches rejected so far.
    public let rejected: Int
    /// The number of dispatches dropped so far.
    public let dropped: Int
    /// The time for which the oldest dispatch is in flight; nil if there is none.
    public let oldest: Duration?
  }

  /// The wait of a task or a thread for a unit: whether it has ended with one.
  typealias Wait = Eventual<Bool>
  typealias State = LimitState<Dispatch, Wait>

  /// The number of dispatches that may be in flight.
  let bound: Int
  let overflow: Overflow
  /// The name in messages.
  public let name: String
  private let number = DispatchLimit.count.wrappingAdd(1, ordering: .relaxed).newValue
  private static let count = Atomic<UInt64>(0)
  private let state: Locked<State>
  private let clock = DispatcherClock(nil)
  /// The place of a lane's limit in a table.
  private let place: KeyedPlace?

  /// Makes a limit.
  ///
  /// - Parameters:
  ///   - bound: The number of dispatches that may be in flight; at least one.
  ///   - overflow: The treatment of dispatches above the bound.
  ///   - name: The name in messages.
  public convenience init(_ bound: Int, overflow: Overflow = .reject, name: String = "limit") {
    self.init(bound, overflow: overflow, name: name, at: nil)
  }

  init(_ bound: Int, overflow: Overflow, name: String, at place: KeyedPlace?) {
    Self.check(bound, of: name)
    (self.bound, self.overflow) = (bound, overflow)
    self.name = name
    self.place = place
    state = Locked(State(bound: bound))
  }

  /// Stops the program if a limit's bound lets no dispatch begin.
  static func check(_ bound: Int, of name: String) {
    if bound < 1 {
      stopProgram(
        """
        The limit "\(name)" was made with a bound of \(bound), with which no dispatch could begin. It is 1 at least.
        """)
    }
  }

  /// The rank in the order in which a dispatch takes units of several limits: as they were made.
  ///
  /// Those that drop the oldest come last, so that nothing is dropped for a dispatch that another limit refuses.
  var rank: (Int, UInt64) { (overflow == .dropOldest ? 1 : 0, number) }

  /// The present counts.
  ///
  /// Each access takes time linear in the number of dispatches in flight.
  public var statistics: Statistics {
    let now = clock.nanoseconds
    return state.withLock { state in
      Statistics(
        bound: bound, inFlight: state.inFlight, waiting: state.waitingCount,
        admitted: state.admittedCount, rejected: state.rejectedCount, dropped: state.droppedCount,
        oldest: state.oldest.map { .nanoseconds(now - $0) })
    }
  }

  /// The number of dispatches in flight.
  var inFlight: Int { state.withLock(\.inFlight) }

  // MARK: Units

  /// The result of an attempt to get a unit.
  enum Entry {
    case unit
    /// The dispatch has to wait, if it may.
    case full
    case refused(DispatchError)
  }

  func enter(at callSite: CallSite) -> Entry {
    yieldPoint(.enterLimit, name)
    let isIn = state.withLock { state in
      if state.enter() { return true }
      switch overflow {
      case .reject: state.rejectedCount += 1
      case .dropNewest: state.noteDropped()
      case .dropOldest, .wait: break
      }
      return false
    }
    if isIn { return .unit }
    switch overflow {
    case .reject: return .refused(.limitExceeded(self, callSite))
    case .dropNewest: return .refused(.dropped(by: self, callSite))
    case .dropOldest: return replaceOldest(at: callSite)
    case .wait: return .full
    }
  }

  private func replaceOldest(at callSite: CallSite) -> Entry {
    while let oldest = state.withLock({ $0.takeDroppable() }) {
      guard oldest.drop(with: .dropped(by: self, oldest.callSite)) else { continue }
      yieldPoint(.enterLimit, name)
      if state.withLock({ $0.replace(oldest) }) { return .unit }
    }
    // A dispatch may have ended meanwhile.
    let isIn = state.withLock { state in
      if state.enter() { return true }
      state.noteDropped()
      return false
    }
    return isIn ? .unit : .refused(.dropped(by: self, callSite))
  }

  /// Takes a unit if one is free by now, and returns true; otherwise begins the wait.
  func enter(orWait wait: Wait) -> Bool {
    state.withLock { state in
      if state.enter() { return true }
      state.wait(wait)
      return false
    }
  }

  /// Ends a wait without a unit, unless it has one.
  func endWait(_ wait: Wait) {
    if state.withLock({ $0.endWait(wait) }) { wait.set(false) }
  }

  /// Releases a unit that no dispatch has got.
  func leave() {
    yieldPoint(.leaveLimit, name)
    state.withLock { $0.leave() }?.set(true)
  }

  /// Gives a unit to a dispatch until its stores have ended.
  ///
  /// Call it before they can begin: a dispatch that had ended would keep the unit for ever.
  func giveUnit(to dispatch: Dispatch) {
    let now = clock.nanoseconds
    state.withLock { $0.insert(dispatch, at: now) }
    dispatch.makeDetails().atStoresEnd { self.takeUnit(from: dispatch) }
  }

  private func takeUnit(from dispatch: Dispatch) {
    yieldPoint(.leaveLimit, name)
    // In one transition: a caller that has dropped the dispatch finds that it has its unit, or that the unit is free.
    state.withLock { $0.remove(dispatch) ? $0.leave() : nil }?.set(true)
  }

  /// Lets others drop a dispatch from now on, since its scheduler has it.
  func entered(_ dispatch: Dispatch) {
    if overflow == .dropOldest { state.withLock { $0.allowDropping(dispatch) } }
  }

  /// The dispatches that have units of this limit.
  var holders: [Dispatch] { state.withLock(\.holders) }

  /// Whether a dispatch has a unit of this limit.
  func isHeld(by dispatch: Dispatch) -> Bool { state.withLock { $0.contains(dispatch) } }
}

extension DispatchError {
  fileprivate static func limitExceeded(
    _ limit: DispatchLimit, _ callSite: CallSite
  ) -> DispatchError {
    DispatchError(
      code: .limitExceeded,
      message: """
        The dispatch at \(callSite) was rejected: as many as \(limit.name) allows are in flight \
        (\(limit.bound)).
        """,
      callSites: [callSite])
  }

  fileprivate static func dropped(by limit: DispatchLimit, _ callSite: CallSite) -> DispatchError {
    DispatchError(
      code: .dropped,
      message: """
        The dispatch at \(callSite) was dropped before it started: more came than \(limit.name) allows in flight \
        (\(limit.bound)).
        """,
      callSites: [callSite])
  }

  static func wouldDeadlock(
    waitingFor limit: DispatchLimit, _ callSite: CallSite, _ why: String
  ) -> DispatchError {
    DispatchError(
      code: .wouldDeadlock,
      message: """
        The dispatch at \(callSite) would have to wait for \(limit.name), which has as many in flight as it allows \
        (\(limit.bound)), \(why).
        """,
      callSites: [callSite])
  }
}
