public import Foundation

/// Limits for all dispatches of a dispatcher, whatever their options say, except `.sync` ones, which no queue holds.
public struct DispatchLimits: Sendable {
  /// The limit of each lane by itself, including the default one and the main queue.
  var lane: (bound: Int, overflow: DispatchLimit.Overflow)?
  /// The limit of all lanes together.
  var lanes: DispatchLimit?
  /// The limit of `async`.
  var queue: DispatchLimit?

  /// Makes limits; by default there are none.
  ///
  /// - Parameters:
  ///   - bound: The number of dispatches of each lane that may be in flight; nil for any number.
  ///   - overflow: The treatment of dispatches above the bound.
  ///   - lanes: The limit of all lanes together.
  ///   - queue: The limit of `async`.
  public init(
    perLane bound: Int? = nil, overflow: DispatchLimit.Overflow = .reject,
    lanes: DispatchLimit? = nil, queue: DispatchLimit? = nil
  ) {
    lane = bound.map { ($0, overflow) }
    (self.lanes, self.queue) = (lanes, queue)
  }
}

extension Dispatcher {
  /// Makes a dispatcher whose lanes and queue are bounded.
  ///
  /// Each dispatch in these modes is counted, and so has a record. `.sync` costs the same as without limits.
  ///
  /// - Parameters:
  ///   - name: The dispatcher's name in messages.
  ///   - limits: The bounds.
  ///   - queue: The concurrent queue; by default a new one.
  ///   - clock: Measures durations, and time limits.
  ///   - taskLocals: The task-local values to bind where an action runs.
  public convenience init(
    name: String = "dispatcher", limits: DispatchLimits,
    queue: OperationQueue? = nil, clock: (any Clock<Duration>)? = nil,
    carrying taskLocals: [CarriedTaskLocal] = []
  ) {
    self.init(
      name: name, queue: queue, clock: clock, carrying: taskLocals, in: nil,
      by: LimitedDispatches(limits))
  }

  /// The present figures of a lane's limit.
  ///
  /// Nil if lanes have no limits of their own, or if no dispatch of this lane is in flight.
  ///
  /// - Parameter mode: The lane: `serial`, `serial(lane:)` or `mainThread`.
  public func statistics(ofLane mode: Mode) -> DispatchLimit.Statistics? {
    let limits = (defaultAdmission as? LimitedDispatches)?.laneLimits
    return mode.laneKey.flatMap { limits?.present($0) }?.statistics
  }
}

/// The limits of a dispatcher's dispatches.
final class LimitedDispatches: DefaultAdmission, @unchecked Sendable {
  // because it has only constants
  private let limits: DispatchLimits
  let laneLimits: KeyedLimits?

  init(_ limits: DispatchLimits) {
    self.limits = limits
    laneLimits = limits.lane.map { KeyedLimits($0.bound, $0.overflow) }
  }

  override func admission(
    in mode: Dispatcher.Mode, with own: DispatchAdmission?
  ) -> DispatchAdmission? {
    // A ready dispatch has got its units before, or needs none.
    if own?.isReady == true { return own }
    var values = (own as? ControlOptions)?.values ?? ControlOptions.Values()
    if mode.isAsync {
      if let queue = limits.queue { values.add(queue) }
    } else {
      if let lanes = limits.lanes { values.add(lanes) }
      if let lane = mode.laneKey, let limit = laneLimits?.limit(lane) { values.add(limit) }
    }
    return values.limits.isEmpty ? own : ControlOptions(values)
  }
}
