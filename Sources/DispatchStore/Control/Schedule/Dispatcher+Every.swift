extension Dispatcher {
  /// Dispatches an action again and again, each time an interval has passed.
  ///
  ///     shop.every(.seconds(60), name: "expire carts", perform: ExpireCarts())
  ///
  /// The first run is an interval after the call. The times are fixed from then on, by the dispatcher's clock, so a late
  /// run delays no other. A run whose time comes before the former run of that name has ended is skipped. Runs are
  /// dispatched on the concurrent queue.
  ///
  /// The schedule stops if you cancel it by its name, if another one or a dispatch takes the name, and if the dispatcher
  /// is closed, drained or shut down. A run whose time has come by then may still begin. The schedule does not keep the
  /// dispatcher alive. On a closed dispatcher it does not start. May be called from any thread.
  ///
  /// If the dispatcher has a persistence whose `ActionCoder` knows the action, the schedule is saved. After a restart it
  /// keeps its times, whether you call this again or `resumeWork()` finds it; to end it, cancel it by its name. The time
  /// of the next run is saved in the commit of each run, so that none runs twice.
  ///
  /// - Parameters:
  ///   - interval: The time between two runs.
  ///   - name: The name in `scheduled`. A pending action of that name is replaced.
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The thread and the order in which each run is dispatched.
  ///   - missed: The treatment of times that the clock has jumped over, or that came while no process ran.
  ///   - completion: Gets the result of each run, on the concurrent queue. The next run may begin then, unless this one
  ///     has timed out and its stores go on.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Precondition: `interval` is positive.
  public func every(
    _ interval: Duration, name: String, perform action: some ActionType,
    to storeIdentifier: String? = nil, mode: Mode = .async, missed: MissedRuns = .once,
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    guard interval.wholeNanoseconds > 0 else {
      stopProgram(
        """
        Dispatcher "\(self.name)": \(type(of: action)) was to be dispatched every \(interval) as "\(name)" \
        (\(CallSite(fileID, line))). Pass an interval of a nanosecond or more to every(_:name:perform:).
        """)
    }
    let repeated = RepeatedAction(
      action: action, name: name, storeIdentifier: storeIdentifier, mode: mode,
      completion: completion, CallSite(fileID, line))
    schedules.start(repeated, Repetition(interval: interval.wholeNanoseconds, missed: missed))
  }
}
