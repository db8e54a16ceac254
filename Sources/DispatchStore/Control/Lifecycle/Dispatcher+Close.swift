extension Dispatcher {
  /// Whether `close()`, `drain` or `shutdown()` was called.
  public var isClosed: Bool { acceptance != .open }

  /// Accepts only what dispatches under way dispatch, from now on; nothing once these have ended.
  ///
  /// What is refused ends at once with a `DispatchError` of the code `dispatcherClosed`, without a hook; its completion
  /// runs. Accepted is what blocks, hooks, observers and completions of this dispatcher's dispatches dispatch while
  /// those go on, with all that follows from it; stores and middlewares stay registered. Dispatches before pay nothing
  /// for it. May be called from any thread, more than once.
  public func close() {
    endAcceptance()
  }

  /// Accepts nothing any longer, also of what dispatches under way dispatch; these go on to their ends.
  ///
  /// As `close()` in all else.
  public func shutDown() {
    endAcceptance(isAtOnce: true)
  }

  /// Closes the dispatcher, and waits until all dispatches have ended, those included that they dispatch meanwhile.
  ///
  /// With a limit, by the dispatcher's clock, it returns then at the latest, with what has not ended: that goes on, and
  /// another call may wait for it. It returns as early where the task is cancelled. Any number of tasks may drain a
  /// dispatcher. What a suspended queue holds back is waited for, too.
  ///
  /// - Parameters:
  ///   - limit: For so long it waits at most; nil to wait to the end, zero or less not at all.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: Whether all have ended, and what has not.
  /// - Precondition: No dispatch of this dispatcher waits for the calling task; it could not end before.
  @discardableResult
  public func drain(
    timeout limit: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DispatchStore::DrainReport {
    checkDrain(CallSite(fileID: fileID, line: line))
    endAcceptance()
    let wait = DrainWait(of: self)
    wait.begin(until: deadline(after: limit))
    let isComplete = await withTaskCancellationHandler {
      await wait.isComplete.value
    } onCancel: {
      // Elsewhere: the runtime has locked the task.
      pool.resume { wait.isComplete.set(false) }
    }
    return report(isComplete: isComplete)
  }

  /// The same for code that does not await it: calls a closure then, once, on the concurrent queue, also where that is
  /// suspended.
  public func drain(
    timeout limit: Duration? = nil,
    then body: @escaping @Sendable (DispatchStore::DrainReport) -> Void
  ) {
    endAcceptance()
    let wait = DrainWait(of: self)
    wait.isComplete.whenSet { isComplete in
      self.pool.resume { body(self.report(isComplete: isComplete)) }
    }
    wait.begin(until: deadline(after: limit))
  }

  private func deadline(after limit: Duration?) -> Int64? {
    limit.map { clock.nanoseconds.addingClamped($0.wholeNanoseconds) }
  }

  private func checkDrain(_ callSite: CallSite) {
    let around = DispatchContext.ofTask?.andAround.first { $0.dispatcherUnderWay == number }
    guard let around else { return }
    stopProgram(
      """
      Dispatcher "\(name)" was drained (\(callSite)) inside one of its dispatches (\(around.dispatch.callSite)), \
      which can't end before the drain. Drain it from a task that no dispatch waits for, or call close().
      """)
  }

  private func report(isComplete: Bool) -> DispatchStore::DrainReport {
    let inFlight = middlewares.lazy.compactMap { $0 as? InFlightDispatches }.first
    return DrainReport(
      isComplete: isComplete, unfinished: isComplete ? [] : inFlight.map(unfinished),
      uncompensated: uncompensatedGroups.all.withLock { $0 }, dispatcher: name)
  }

  /// Those that a middleware knows, and those that have not begun.
  private func unfinished(_ inFlight: InFlightDispatches) -> [InFlightDispatch] {
    let delayed = delayedDispatches.all.map(InFlightDispatch.init)
    let begun = inFlight.all
    let known = Set(begun.map(\.id))
    return (begun + delayed.filter { !known.contains($0.id) }).sorted { $0.id < $1.id }
  }
}
