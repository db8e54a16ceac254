extension Dispatcher {
  /// Whether the dispatcher refuses new dispatches from outside: `close()`, `shutDown()` or `drain` was called.
  ///
  /// A closed dispatcher never opens again.
  public var isClosed: Bool { acceptance != .open }

  /// Whether not even dispatches under way may dispatch.
  var isShutDown: Bool { acceptance == .ended }

  /// Accepts only dispatches made by dispatches under way from now on, and none once these have ended.
  ///
  /// A refused dispatch ends at once with a `DispatchError` of the code `dispatcherClosed`, without a hook; its
  /// completion runs. Dispatches from blocks, hooks, observers and completions of this dispatcher's dispatches are
  /// accepted while those go on, with all that follows from them. What they delay or schedule is saved for the next
  /// process; what can't be saved is refused, unless it is due. `every` does not start. Stores and middlewares stay
  /// registered. Before it is called, it costs dispatches nothing. May be called from any thread, more than once.
  public func close() {
    endAcceptance()
  }

  /// Accepts no further dispatch, not even from dispatches under way; these go on to their ends.
  ///
  /// Returns at once, as `close()` does; to wait for those ends, call `drain`. Everything else is
  /// as with `close()`.
  public func shutDown() {
    endAcceptance(isAtOnce: true)
  }

  /// Closes the dispatcher, and waits until all dispatches have ended, including those that they make meanwhile.
  ///
  /// With a limit, by the dispatcher's clock, the call returns at the latest when that has passed, and reports the
  /// dispatches that have not ended. These go on, and another call may wait for them. If the task is cancelled, the
  /// call returns early, too. Any number of tasks may drain a dispatcher. The wait includes dispatches that a
  /// suspended queue holds back.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait; nil to wait to the end, zero or less not to wait at all.
  ///   - includingStreams: Whether to wait, after the dispatches, until the consumers of the registered stores'
  ///     streams have caught up, as `Store.streamsCaughtUp()` does.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: Whether all dispatches have ended, and those that have not.
  /// - Precondition: No dispatch of this dispatcher waits for the calling task; it could not end before. The task may
  ///   be the consumer of a `.suspending` stream, unless streams are included.
  @discardableResult
  public func drain(
    timeout limit: Duration? = nil, includingStreams: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async -> DrainReport {
    checkDrain(CallSite(fileID, line))
    endAcceptance()
    return report(
      isComplete: await dispatchesEnd(timeout: limit, includingStreams: includingStreams))
  }

  /// Waits until no dispatch is under way; called once none is accepted from outside.
  ///
  /// - Returns: Whether that is so; false after the limit, or if the task is cancelled.
  func dispatchesEnd(timeout limit: Duration?, includingStreams: Bool = false) async -> Bool {
    let wait = DrainWait(of: self, includingStreams: includingStreams)
    // A dispatch may wait until the task, as the consumer of a stream, takes what is kept.
    let taskWait = TaskWait.begin()
    defer { taskWait?.end() }
    wait.begin(until: deadline(after: limit))
    return await withCancellationHandler {
      await wait.isComplete.value
    } onCancel: {
      pool.submit(end: .step { wait.isComplete.set(false) })
    }
  }

  /// Drains the dispatcher without awaiting it.
  ///
  /// Calls a closure once, on a thread of the library, when all dispatches have ended or the limit has passed. It is
  /// called even if the queue is suspended.
  public func drain(
    timeout limit: Duration? = nil, includingStreams: Bool = false,
    then body: @escaping @Sendable (DrainReport) -> Void
  ) {
    endAcceptance()
    let wait = DrainWait(of: self, includingStreams: includingStreams)
    wait.isComplete.whenSet { isComplete in
      self.pool.submit(end: .step { body(self.report(isComplete: isComplete)) })
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

  private func report(isComplete: Bool) -> DrainReport {
    DrainReport(
      isComplete: isComplete, unfinished: isComplete ? [] : inFlightTable.map(unfinished),
      uncompensated: uncompensatedGroups.all.withLock { $0 },
      scheduleCount: savedSchedules?.count ?? 0, pendingEffectCount: outbox.leftCount,
      dispatcher: name, effects: isComplete ? [] : progressOfEffects)
  }

  /// The dispatches that have not begun, because their time has not come.
  package var delayed: [InFlightDispatch] {
    delayedDispatches.all.values.map { delay, subject in
      InFlightDispatch(delay.dispatch, subject, delay.mode)
    }
  }

  /// The dispatches in the table, and those that have not begun.
  private func unfinished(_ table: InFlightTable) -> [InFlightDispatch] {
    let begun = table.all.map(InFlightDispatch.init)
    let known = Set(begun.map(\.id))
    return (begun + delayed.filter { !known.contains($0.id) }).sorted { $0.id < $1.id }
  }
}
