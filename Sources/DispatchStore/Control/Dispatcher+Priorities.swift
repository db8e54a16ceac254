extension Dispatcher {
  /// Starts the dispatches of a lane by their priority, `DispatchOptions.priority(_:)`, from now on.
  ///
  /// The highest priority goes first, and equal ones first in, first out; a lower one is passed over 16 times in a row at
  /// most. What waits for others (`after`, conditions, exclusion keys) goes after all that was dispatched to the lane
  /// before it, and lends these its priority meanwhile, so that it never holds the lane before something that it waits for.
  /// It concerns the lane's key, whether the lane is idle or not, and what is dispatched after the call; without a priority
  /// a dispatch has the normal one. A dispatch whose lane was not made so has its turn as if it had none.
  ///
  /// Cost: some bytes for each lane, until `ignorePriorities(in:)`; while dispatches of other priorities wait, a lock and
  /// some lists for each that is dispatched to the lane.
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
