extension Dispatcher {
  /// Starts the dispatches of a lane by their priority, `DispatchOptions.priority(_:)`, from now on.
  ///
  /// The highest priority goes first, and equal ones first in, first out; the default is normal. A lower one is
  /// passed over 16 times in a row at most. A dispatch that waits for others (`after`, conditions, exclusion keys), or
  /// for a token of a rate limit, goes after all that were dispatched to the lane before it, and lends these its
  /// priority. So it never holds the lane before a dispatch that it waits for. In other lanes, priorities have no effect.
  ///
  /// The setting applies to the lane's key, even while the lane is idle, and to dispatches made after the call.
  ///
  /// Two waits are refused with `wouldDeadlock` although a priority might let them end. One is a wait for a dispatch
  /// that came to the lane after one that is held back for the waiting dispatch. The other is a wait with `.sync` in
  /// a task, for a dispatch that waits in the lane beside dispatches that were sent.
  ///
  /// See "Priorities" in `docs/Control.md`.
  ///
  /// Cost: some bytes for each lane, until `ignorePriorities(in:)`. While dispatches of other priorities wait, each
  /// dispatch to the lane takes a lock and some memory.
  ///
  /// - Parameter lane: `serial`, `serial(lane:)`, `serial(lanes:)` or `mainThread`.
  public func usePriorities(in lane: Mode) {
    for key in laneKeys(of: lane) { prioritizedLanes.insert(key) }
  }

  /// Starts later dispatches of a lane first in, first out again.
  ///
  /// Dispatches made before the call still have their turn by priority.
  ///
  /// - Parameter lane: `serial`, `serial(lane:)`, `serial(lanes:)` or `mainThread`.
  public func ignorePriorities(in lane: Mode) {
    for key in laneKeys(of: lane) { prioritizedLanes.remove(key) }
  }

  private func laneKeys(of mode: Mode) -> [TypedKey] {
    let keys = mode.laneKeys
    if keys.isEmpty {
      stopProgram(
        """
        Dispatcher "\(name)" was given mode .\(mode) as a lane with priorities, which is none: name .serial, \
        .serial(lane:) or .mainThread. In mode .async dispatches have priorities without that; .sync has no queue.
        """)
    }
    return keys
  }

  /// The lanes in which dispatches have priorities.
  var prioritizedLanes: PrioritizedLanes { attachment(orAdd: PrioritizedLanes()) }
}
