extension Dispatcher {
  /// The dispatches that have not begun, and the repeating schedules, in the order of their times.
  ///
  /// Those that an earlier process has left are among them, also if they are not resumed, say since their store is not
  /// registered. Dispatches that `debounced` or `throttled` delays are not. May be called from any thread. Cost: linear.
  public var scheduled: [ScheduledAction] {
    let saved = savedSchedules
    // In this order: what an earlier process has left moves from there to the table.
    let left = saved?.left ?? []
    let pending = schedules.pending(saved)
    let names = Set(pending.compactMap(\.name))
    let waiting = left.filter { !names.contains($0.name) }.map { ScheduledAction($0) }
    return (pending + waiting).sorted { $0.due < $1.due }
  }

  /// Cancels what is pending under a name: a dispatch ends as cancelled, a repeating schedule stops.
  ///
  /// A run of a repeating schedule that has begun goes on. May be called from any thread.
  ///
  /// - Returns: Whether something was pending.
  @discardableResult
  public func cancelScheduled(named name: String) -> Bool {
    schedules.cancel(name)
  }
}
