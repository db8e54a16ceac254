/// When a dispatch begins, and its name until then.
struct ScheduleRule: Sendable {
  enum Begin {
    /// Nanoseconds of the dispatcher's clock from the call on.
    case after(Int64)
    case at(ScheduleTime)
  }

  private(set) var begin: Begin
  let name: String?
  let missed: MissedRuns
  /// Whether the dispatch is saved if it has a name; if not, nothing is saved under its name.
  var isSaved = true

  func time(at moment: Moment) -> ScheduleTime {
    switch begin {
    // Never earlier than now, so that a difference to a later moment does not overflow.
    case .after(let time): .elapsed(moment.elapsed.addingClamped(max(time, 0)))
    case .at(let time): time
    }
  }

  /// Returns the rule of a call that is made at a moment, and is admitted later.
  func called(at moment: Moment) -> ScheduleRule {
    var rule = self
    rule.begin = .at(time(at: moment))
    return rule
  }

  func admit(_ delay: DispatchDelay, to dispatcher: Dispatcher) throws -> Admission {
    try dispatcher.schedules.arrive(delay, self) ? .waits(delay) : .begins
  }
}

extension DispatchError {
  static func scheduleNeverRuns(_ callSite: CallSite) -> DispatchError {
    DispatchError(
      code: .dispatcherClosed,
      message: """
        The scheduled dispatch at \(callSite) never runs: its dispatcher was closed, and only a schedule that can be \
        saved is left to the next process. That needs a name and a lane that can be saved, a single action that is no \
        step of a group, a persistence whose ActionCoder knows the action, no more than \
        \(CompanionRow.maxKeySize) bytes, and no U+0000, in the names of the dispatch and its dispatcher, and in a task \
        another mode than .sync.
        """,
      callSites: [callSite])
  }
}
