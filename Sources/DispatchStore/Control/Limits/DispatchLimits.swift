/// Limits for all dispatches of a dispatcher, whatever their options say.
///
/// Four kinds of dispatches are not counted: `.sync` ones, which no queue holds; compensations and the actions that
/// durable effects return, because a refusal would leave work half done; and delayed, scheduled or repeating ones, because
/// they come at their time, when nobody is there to be refused.
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
    if let bound { DispatchLimit.check(bound, of: "of each lane") }
    lane = bound.map { ($0, overflow) }
    (self.lanes, self.queue) = (lanes, queue)
  }
}

extension KeyedTable<DispatchLimit> {
  /// The limit of a lane, kept by the dispatches that have its units and by those that wait for them.
  func limit(_ key: TypedKey, _ bound: Int, _ overflow: DispatchLimit.Overflow) -> DispatchLimit {
    member(of: key) { place in
      DispatchLimit(
        bound, overflow: overflow, name: "the limit of lane \"\(key.description)\"", at: place)
    }
  }
}

extension Dispatcher {
  /// The present figures of a lane's limit.
  ///
  /// Nil if lanes have no limits of their own, or if no dispatch of this lane is in flight.
  ///
  /// - Parameter mode: The lane: `serial`, `serial(lane:)` or `mainThread`.
  public func statistics(ofLane mode: Mode) -> DispatchLimit.Statistics? {
    let limits = (defaultAdmission as? DispatcherControl)?.laneLimits
    let keys = mode.laneKeys
    return keys.count == 1 ? limits?.present(keys[0])?.statistics : nil
  }
}
