extension DispatchOptions {
  /// Limits the time of the dispatch, by the dispatcher's clock, from the call on.
  ///
  /// If the time passes before the end, the dispatch is timed out: its result has a `DispatchError` with the code
  /// `timedOut`. The end is that of the last store, before its `didDispatch`. Stores that have ended keep their
  /// outcomes and replies, and the models their changes. Waiting parts do not start, stores that have not started end
  /// as cancelled, and running code sees `isCancelled`.
  ///
  /// The result is there, and the completion is called, at the deadline, on a thread of the library; with `.sync`
  /// and `send` once the block has ended. In each mode, hooks, stores that run regardless and the lane's next dispatch
  /// follow the block. With a limit of zero or less nothing runs, and no middleware is called. If you pass several
  /// limits, the soonest counts. Nil takes away the dispatcher's default limit.
  ///
  /// Cost: a timer of the dispatcher while the dispatch waits or a block runs, and no thread.
  public static func timeout(_ limit: Duration?) -> DispatchOptions {
    var options = DispatchOptions()
    options.timeLimit = limit.map { min($0.wholeNanoseconds, unlimited) } ?? unlimited
    return options
  }

  /// Lets the dispatch time out at an instant of the dispatcher's clock.
  ///
  /// Everything else is as with `DispatchOptions.timeout(_:)`.
  ///
  /// - Precondition: The instant belongs to the clock with which the dispatcher was made, or to `ContinuousClock` if
  ///   it was made without one.
  public static func deadline(_ instant: some InstantProtocol<Duration>) -> DispatchOptions {
    DispatchOptions().controlled { values in
      values.deadlines.append { clock, callSite in
        guard let left = clock.left(until: instant) else {
          stopProgram(
            """
            The deadline of a dispatch (\(callSite)) is a \(type(of: instant)), which is not of its dispatcher's clock. \
            Take an instant of that clock; of ContinuousClock, where the dispatcher was made without one.
            """)
        }
        return Deadline(after: left.wholeNanoseconds, by: clock.nanoseconds)
      }
    }
  }
}

extension DispatcherClock {
  /// Returns the time until an instant of the clock, or nil for an instant of another clock.
  fileprivate func left(until instant: some InstantProtocol<Duration>) -> Duration? {
    func left<Opened: Clock>(on clock: Opened) -> Duration? where Opened.Duration == Duration {
      (instant as? Opened.Instant).map { clock.now.duration(to: $0) }
    }
    return left(on: base)
  }
}
