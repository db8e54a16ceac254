extension Dispatcher {
  /// Starts the dispatches of a lane by their priority, `DispatchOptions.priority(_:)`, from now on.
  ///
  /// The highest priority goes first, and equal ones first in, first out; without one it is normal. A lower one is
  /// passed over 16 times in a row at most. What waits for others (`after`, conditions, exclusion keys) goes after all
  /// that was dispatched to the lane before it, and lends these its priority: so it never holds the lane before
  /// something that it waits for. In a lane that was not made so, priorities have no effect.
  ///
  /// It concerns the lane's key, also while the lane is idle, and what is dispatched after the call.
  ///
  /// Two waits are refused with `wouldDeadlock` although a priority might let them end: for one that was dispatched to
  /// the lane after one that is held back for the waiting dispatch; and with `.sync` in a task, for one that waits in
  /// the lane beside dispatches that were sent. See "Priorities" in `docs/Control.md`.
  ///
  /// Cost: some bytes for each lane, until `ignorePriorities(in:)`; while dispatches of other priorities wait, a lock
  /// and some memory for each that is dispatched to the lane.
  ///
  /// - Parameter lane: `serial`, `serial(lane:)` or `mainThread`.
  public func usePriorities(in lane: Mode) {
    prioritizedLanes.insert(laneKey(of: lane))
  }

  /// Starts what is dispatched to a lane from now on first in, first out again.
  ///
  /// What was dispatched before has its turn by its priority.
  ///
  /// - Parameter lane: `serial`, `serial(lane:)` or `mainThread`.
  public func ignorePriorities(in lane: Mode) {
    prioritizedLanes.remove(laneKey(of: lane))
  }

  private func laneKey(of mode: Mode) -> TypedKey {
    guard let key = mode.laneKey else {
      stopProgram(
        """
        Dispatcher "\(name)" was given mode .\(mode) as a lane with priorities, which is none: name .serial, \
        .serial(lane:) or .mainThread. In mode .async dispatches have priorities without that; .sync has no queue.
        """)
    }
    return key
  }

  /// The lanes in which dispatches have priorities.
  var prioritizedLanes: PrioritizedLanes { attachment(orAdd: PrioritizedLanes()) }
}
