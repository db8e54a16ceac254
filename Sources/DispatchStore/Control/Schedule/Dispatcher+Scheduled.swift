extension Dispatcher {
  /// The dispatches that have not begun, and the repeating schedules, in the order of their times.
  ///
  /// Dispatches that `debounced` or `throttled` delays are not among them. May be called from any thread. Cost: linear.
  public var scheduled: [ScheduledAction] {
    let saved = savedSchedules
    return schedules.all.compactMap { ScheduledAction($0, saved) }.sorted { $0.due < $1.due }
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
