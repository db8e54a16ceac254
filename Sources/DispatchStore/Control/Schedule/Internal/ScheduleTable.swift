/// The scheduled dispatches and repeating actions of a dispatcher, with one timer for all.
final class ScheduleTable: DispatcherAttachment, DateObserver {
  enum Member: Sendable {
    /// A dispatch, with the companion that saves it, if it is saved.
    case dispatch(DispatchDelay, SavedSchedule?)
    case repeated(RepeatedAction)
  }

  private typealias Schedule = ScheduleState<Member>

  private let schedule: Locked<Schedule>
  private let timer = MovingTimer()
  private let clock: DispatcherClock
  // Weak, since the dispatcher owns both: a repeating schedule does not keep the dispatcher alive.
  private weak let dispatcher: Dispatcher?
  private weak let timers: TimerQueue?

  init(of dispatcher: Dispatcher) {
    clock = dispatcher.clock
    self.dispatcher = dispatcher
    timers = dispatcher.timers
    var schedule = Schedule()
    if !dispatcher.clock.hasSilentJumps { schedule.longestPause = .max }
    self.schedule = Locked(schedule)
    dispatcher.clock.add(self)
  }

  // MARK: Adding

  /// Adds a dispatch; returns whether it waits.
  ///
  /// Throws if it can't.
  func arrive(_ delay: DispatchDelay, _ rule: ScheduleRule) throws -> Bool {
    let (dispatch, moment) = (delay.dispatch, clock.moment)
    let due = rule.time(at: moment)
    // Added before others can find the dispatch in the table.
    let saved = companion(of: delay, rule, due.unix(at: moment))
    let entry = Schedule.Entry(member: .dispatch(delay, saved), name: rule.name, due: due)
    // A dispatch that is saved waits even if its time has come, so that its row is saved before it begins.
    let waiting: Schedule.Waiting =
      !delay.mayWait ? .never : saved == nil ? .untilItsTime : .always
    switch add(entry, at: moment, waiting, restoring: saved?.restoring) {
    case .begins(let replaced, let number):
      saveNothing(of: rule, number)
      replace(replaced, by: dispatch.callSite)
      return false
    case .waits(let token, let replaced, let number):
      dispatch.at(.beforeResult) { self.remove(token) }
      saved?.came(number)
      replace(replaced, by: dispatch.callSite)
      return true
    case .refused:
      throw DispatchError.wouldBlockTasks(dispatch.callSite, until: "its scheduled time has come")
    case .closed(let number):
      guard let saved, saved.canBeSaved else {
        guard due.hasCome(at: moment) else {
          throw DispatchError.scheduleNeverRuns(dispatch.callSite)
        }
        saveNothing(of: rule, number)
        return false
      }
      // Like one that came just before the close: saved once its delay is arranged, and then ended.
      saved.came(number)
      saved.leave(dispatch)
      return true
    case .outdated:
      throw CancellationError()
    }
  }

  /// Removes the row of earlier ones of a rule's name, also of an earlier process: the new one begins, and is not saved.
  private func saveNothing(of rule: ScheduleRule, _ number: Int) {
    if let name = rule.name { dispatcher?.savedSchedules?.saveNothing(of: name, number) }
  }

  /// The companion that saves a dispatch with a name once it is known where it goes; nil if it is not saved.
  private func companion(
    of delay: DispatchDelay, _ rule: ScheduleRule, _ due: Int64
  ) -> SavedSchedule? {
    guard delay.mayWait, let name = rule.name, let saved = dispatcher?.savedSchedules
    else { return nil }
    let details = delay.dispatch.makeDetails()
    // A restored dispatch has its row.
    if let restored = details.companions.lazy.compactMap({ $0 as? SavedSchedule }).first {
      return restored
    }
    let key = details.companions.lazy.compactMap { ($0 as? KeyedDispatch)?.key }.first
    let companion = SavedSchedule(
      of: delay, named: name, due: due, rule.missed, key, isSaved: rule.isSaved, in: saved)
    details.companions.append(companion)
    return companion
  }

  /// Starts a repeating schedule.
  ///
  /// - Parameter due: The time of its next run, if an earlier process has left it; nil for an interval from now on.
  func start(_ action: RepeatedAction, _ repetition: Repetition, due: Int64? = nil) {
    if dispatcher?.isClosed != false { return }
    let moment = clock.moment
    let saved = dispatcher?.savedSchedules
    // In this order: what an earlier process has left moves from there to here.
    let kept = due ?? saved?.foundDue(of: action.name) ?? resumedDue(of: action.name, at: moment)
    let left = kept.map { repetition.left(until: $0, at: moment.unix) }
    let entry = Schedule.Entry(
      member: .repeated(action), name: action.name,
      due: .elapsed(moment.elapsed.addingClamped(left ?? repetition.interval)),
      repetition: repetition)
    let restoring = due == nil ? nil : { saved?.takePending(action.name) == true }
    guard
      case .waits(_, let replaced, let number) = add(
        entry, at: moment, .untilItsTime, restoring: restoring)
    else { return }
    if let saved {
      saved.save(
        action.action, named: action.name, to: action.storeIdentifier, action.mode,
        due: entry.due.unix(at: moment), repetition.missed, interval: repetition.interval, number)
      // The schedule may have been cancelled or replaced before its row was saved.
      if next(of: action) == nil, dispatcher?.isClosed == false {
        saved.remove(action.name, number)
      }
    }
    action.isArranged.set(())
    replace(replaced, by: action.callSite)
  }

  /// The time of a repeating schedule that `resumeWork()` has taken over, until the program declares it again.
  private func resumedDue(of name: String, at moment: Moment) -> Int64? {
    guard let entry = schedule.withLock({ $0.entry(named: name) }),
      case .repeated(let action) = entry.member, action.isResumed
    else { return nil }
    return entry.due.unix(at: moment)
  }

  /// The next run of a repeating schedule, in nanoseconds since 1970, with its number; nil if it has stopped.
  func next(of action: RepeatedAction) -> (due: Int64, number: Int)? {
    let moment = clock.moment
    let entry = schedule.withLock { $0.entry(named: action.name) }
    guard let entry, case .repeated(let present) = entry.member, present === action else {
      return nil
    }
    return (entry.due.unix(at: moment), entry.number)
  }

  /// Adds an entry, and moves the timer.
  ///
  /// - Parameter restoring: Takes what an earlier process has left; false if it was cancelled or replaced meanwhile. Nil
  ///   for a new schedule.
  private func add(
    _ entry: Schedule.Entry, at moment: Moment, _ waiting: Schedule.Waiting,
    restoring: (() -> Bool)?
  ) -> Schedule.Arrival {
    let arrival = change(at: moment, named: entry.name ?? "") { schedule -> Schedule.Arrival in
      // In one step, so that a call that cancels or replaces finds it either there or here.
      if let restoring {
        let isReplaced = entry.name.flatMap { schedule.entry(named: $0) } != nil
        if isReplaced || !restoring() { return .outdated }
      }
      return schedule.arrive(entry, at: moment, waiting)
    }
    // Looks again, since a jump after `moment` may have come before the entry.
    if case .waits = arrival, case .date = entry.due, !clock.hasSilentJumps { change { _ in } }
    return arrival
  }

  private func replace(_ former: Schedule.Entry?, by callSite: CallSite) {
    guard let former, case .dispatch(let delay, _) = former.member else { return }
    let reason =
      " before its time had come: the call at \(callSite) replaced what was scheduled as \"\(former.name!)\""
    delay.dispatch.drop(with: .skipped(delay.dispatch.callSite, for: callSite, reason))
  }

  // MARK: Removing

  /// Removes a dispatch that has ended before its time.
  private func remove(_ token: Schedule.Token) {
    change { $0.remove(token) }
  }

  func cancel(_ name: String) -> Bool {
    let saved = dispatcher?.savedSchedules
    // First there: what an earlier process has left moves from there to here.
    let wasFound = saved?.cancelFound(name) == true
    guard let entry = change({ $0.cancel(name) }) else { return wasFound }
    // A dispatch removes its row itself.
    if case .repeated = entry.member { saved?.remove(name, entry.number) }
    cancel(entry.member)
    return true
  }

  /// Ends all dispatches, of which the saved ones go on in the next process, and stops the repeating schedules.
  func closed(_ dispatcher: Dispatcher) {
    for member in change({ $0.close() }) {
      if case .dispatch(let delay, let saved?) = member, saved.canBeSaved {
        saved.leave(delay.dispatch)
      } else {
        cancel(member)
      }
    }
  }

  private func cancel(_ member: Member) {
    if case .dispatch(let delay, _) = member { delay.dispatch.cancel() }
  }

  // MARK: Time

  /// Makes a change, and moves the timer.
  ///
  /// Entries that are removed are released outside of the lock if the caller drops them.
  @discardableResult
  private func change<Result>(
    at moment: Moment? = nil, named name: String = "", _ body: (inout Schedule) -> Result
  ) -> Result {
    let moment = moment ?? clock.moment
    yieldPoint(.changeSchedule, name)
    let (result, move) = schedule.withLock { schedule in
      let result = body(&schedule)
      return (result, timer.move(to: schedule.nextLook(at: moment)))
    }
    timer.make(move, in: timers) { self.timerFired() }
    return result
  }

  /// Returns whether anything begins.
  private func timerFired() -> Bool {
    let moment = clock.moment
    let due = change(at: moment) { schedule in
      timer.fired(at: moment.elapsed)
      return schedule.takeDue(at: moment)
    }
    for member in due { begin(member) }
    return !due.isEmpty
  }

  /// Looks at the date again.
  func dateJumped() {
    guard let dispatcher else { return }
    if let world = dispatcher.pool.world {
      world.run(.job, dispatcher.pool.goingOn { _ = self.timerFired() })
    } else {
      DispatchContext.outside { timerFired() }
    }
  }

  private func begin(_ member: Member) {
    switch member {
    case .dispatch(let delay, nil): delay.end()
    case .dispatch(let delay, let saved?):
      saved.whenMayBegin { $0 ? delay.end() : saved.leave(delay.dispatch) }
    case .repeated(let action):
      guard let saved = dispatcher?.savedSchedules else { return run(action) }
      saved.whenMayBegin(action.name) { $0 ? self.run(action) : self.runEnded(action.name) }
    }
  }

  private func run(_ action: RepeatedAction) {
    // The schedule may have been cancelled or replaced while the database was asked.
    guard let dispatcher, next(of: action) != nil else { return runEnded(action.name) }
    action.run(by: dispatcher) { self.runEnded(action.name) }
  }

  private func runEnded(_ name: String) {
    schedule.withLock { $0.runEnded(name) }
  }

  // MARK: Facts

  /// The number of pending entries.
  var count: Int { schedule.withLock(\.count) }

  /// The pending actions, but for a dispatch that has ended, or is about to wait.
  ///
  /// - Parameter saved: The schedules that are saved.
  func pending(_ saved: SavedSchedules?) -> [ScheduledAction] {
    let (entries, moment) = (schedule.withLock(\.entries), clock.moment)
    let delays = dispatcher?.delayedDispatches.all ?? [:]
    return entries.compactMap { ScheduledAction($0, at: moment, saved, delays) }
  }
}

extension Dispatcher {
  var schedules: ScheduleTable {
    var isNew = false
    func make() -> ScheduleTable {
      isNew = true
      return ScheduleTable(of: self)
    }
    let table = attachment(orAdd: make())
    // A dispatcher that was closed before has not told this table.
    if isNew, isClosed { table.closed(self) }
    return table
  }
}
