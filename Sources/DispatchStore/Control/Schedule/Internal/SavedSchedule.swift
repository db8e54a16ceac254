/// A scheduled dispatch whose row is removed in the action's own commit.
final class SavedSchedule: DispatchCompanion, @unchecked Sendable {
  // because `state` is locked, and all else constant
  private let name: String
  private let due: Int64
  private let missed: MissedRuns
  private let key: IdempotencyKey?
  /// Whether the action is to be saved; if not, it removes the row of an earlier one of its name.
  private let isSaved: Bool
  /// Whether it has a row, or gets one.
  let canBeSaved: Bool
  private let schedules: SavedSchedules
  /// The record that an earlier process has left; nil for a new schedule.
  private let found: ScheduleRecord<any ActionType>?
  private let state: Locked<State>

  private struct State {
    /// The number in the order of the schedules, by which its record is known; nil if it has not waited.
    var number: Int?
    /// Whether a commit has removed the row.
    var isRemoved = false
    /// Whether the dispatch has ended that it belongs to.
    var hasEnded = false
  }

  /// - Parameters:
  ///   - delay: Of the dispatch, which the calling thread makes.
  ///   - key: The dispatch's idempotency key.
  init(
    of delay: DispatchDelay, named name: String, due: Int64, _ missed: MissedRuns,
    _ key: IdempotencyKey?, isSaved: Bool, in schedules: SavedSchedules
  ) {
    (self.name, self.due, self.missed, self.key) = (name, due, missed, key)
    self.isSaved = isSaved
    // Without an action, it is the schedule of a list.
    let action = isSaved ? delay.dispatch.actionBeforeStart : nil
    canBeSaved = action.map { schedules.canSave($0, named: name, in: delay.mode) } ?? false
    (self.schedules, state, found) = (schedules, Locked(State()), nil)
  }

  /// Takes over a record whose row is there.
  init(of record: ScheduleRecord<any ActionType>, in schedules: SavedSchedules) {
    (name, due, missed, key) = (record.name, record.due, record.missed, record.key)
    (isSaved, canBeSaved) = (true, true)
    (self.schedules, state, found) = (schedules, Locked(State()), record)
  }

  /// Notes the number of its arrival; called before the dispatch that it replaces ends, and before its row is saved.
  func came(_ number: Int) {
    state.withLock { $0.number = number }
    if let found { schedules.enter(found, number) } else { schedules.takeOver(name, by: number) }
  }

  override func noteDelay(_ subject: DispatchSubject, in mode: Dispatcher.Mode) {
    guard found == nil, let number = state.withLock(\.number) else { return }
    guard isSaved, !subject.isSequence else { return schedules.saveNothing(of: name, number) }
    schedules.save(
      subject.actions[0], named: name, to: subject.storeIdentifier, mode, due: due, missed,
      key: key, number)
    if isPlanted(.scheduleRemovedFirst), let row = removal.first { schedules.keeper.save([row]) }
  }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] { removal }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    result.isSuccess && !state.withLock(\.isRemoved) && !isUnanswered(result) ? removal : []
  }

  private var removal: [CompanionRow] {
    guard let number = state.withLock(\.number), let row = schedules.row(name, nil, of: number)
    else { return [] }
    state.withLock { $0.isRemoved = true }
    return [row]
  }

  private func isUnanswered(_ result: DispatchResult) -> Bool {
    guard !result.hasResponders, let number = state.withLock(\.number) else { return false }
    return schedules.isCurrent(name, number)
  }

  /// Ends the dispatch before its time, and leaves the row to another process.
  func leave(_ dispatch: Dispatch) {
    dispatch.drop(with: .leftToAnotherProcess(dispatch.callSite, named: name))
  }

  /// Calls back with whether the dispatch may begin; if not, its row is left to another process.
  func whenMayBegin(_ body: @escaping @Sendable (Bool) -> Void) {
    schedules.whenMayBegin(name, body)
  }

  override func cancelledBeforeItsTime() {
    guard let number = state.withLock(\.number), !isPlanted(.cancelledKeepsRow) else { return }
    schedules.remove(name, number)
  }

  var hasEnded: Bool { state.withLock(\.hasEnded) }

  override func ended(_ result: DispatchResult, of details: DispatchDetails) {
    let present = state.withLock { state in
      state.hasEnded = true
      return state
    }
    guard let number = present.number else { return endedUnscheduled(result) }
    let isLost = details.hasLostCommit
    if present.isRemoved, !isLost { return schedules.forget(name, number) }
    switch result.error {
    // A dispatch that does not wait for saving succeeds all the same.
    case nil where isLost: schedules.fail(name, number, DispatchError.notSaved(name))
    case nil where !details.withState(\.isFollowed) && isUnanswered(result):
      schedules.fail(name, number, DispatchError.unanswered(name))
    case nil: schedules.remove(name, number)
    case is CancellationError:
      // If somebody has cancelled the dispatch before its time, the row is gone already.
      if !schedules.isClosed { schedules.remove(name, number) }
    case let error as DispatchError where isLeft(with: error, result): break
    // Another one has its name. Nothing is removed if that has taken over the row.
    case let error as DispatchError where error.code == .skipped && !result.hasStarted:
      schedules.remove(name, number)
    case let error?: schedules.fail(name, number, error)
    }
  }

  /// Ends what an earlier process has left, and what has never waited because its idempotency key had an answer.
  private func endedUnscheduled(_ result: DispatchResult) {
    guard let found else { return }
    switch result.error {
    case is CancellationError: break
    case let error as DispatchError where isLeft(with: error, result): break
    case let error:
      guard schedules.takePending(name) else { return }
      guard let error else { return schedules.removeRow(name) }
      schedules.enter(found, 0)
      schedules.fail(name, 0, error)
    }
  }

  /// Whether the process can't go on with the schedule, which is therefore left to the next one.
  ///
  /// A handler may throw the error of another dispatcher's dispatch.
  private func isLeft(with error: DispatchError, _ result: DispatchResult) -> Bool {
    switch error.code {
    case .leftToAnotherProcess, .dispatcherClosed: !result.hasStarted || schedules.isClosed
    // Without a cause, only a store of the dispatch was replaced.
    case .persistenceFailed: error.cause != nil
    default: false
    }
  }

  /// Takes what an earlier process has left, as `ScheduleTable.add` asks for; nil for a new schedule.
  var restoring: (() -> Bool)? { found.map { _ in { self.schedules.takePending(self.name) } } }
}

/// A run of a repeating schedule, whose commit saves the time of the next run.
final class SavedRun: DispatchCompanion, @unchecked Sendable {
  // because `kept` is locked, and all else constant
  /// With the time of the next run.
  private let record: ScheduleRecord<any ActionType>
  private let number: Int
  private let schedules: SavedSchedules
  private let kept = Locked(false)

  init(_ record: ScheduleRecord<any ActionType>, _ number: Int, in schedules: SavedSchedules) {
    (self.record, self.number, self.schedules) = (record, number, schedules)
  }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] { isPlanted(.dueAfterCommit) ? [] : keep() }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    kept.withLock { $0 } || result.error is CancellationError ? [] : keep()
  }

  private func keep() -> [CompanionRow] {
    kept.withLock { $0 = true }
    return rows
  }

  /// Empty once the schedule is cancelled or replaced.
  private var rows: [CompanionRow] {
    schedules.row(record.name, record, of: number).map { [$0] } ?? []
  }

  override func ended(_ result: DispatchResult, of details: DispatchDetails) {
    // A run that was cancelled is made up for by the next process.
    if !kept.withLock({ $0 }), !(result.error is CancellationError) {
      schedules.keeper.saveWithNext(rows)
    }
  }
}

extension DispatchError {
  fileprivate static func leftToAnotherProcess(
    _ callSite: CallSite, named name: String
  ) -> DispatchError {
    DispatchError(
      code: .leftToAnotherProcess,
      message: """
        The dispatch at \(callSite), scheduled as "\(name)", does not run in this process, whose dispatcher is closed, or \
        which can no longer save. What is saved goes on in the next process, or in the one that has the database.
        """,
      callSites: [callSite])
  }

  fileprivate static func notSaved(_ name: String) -> DispatchError {
    DispatchError(
      code: .persistenceFailed,
      message: """
        What the scheduled action "\(name)" has committed was not saved: its store was replaced meanwhile. Run it \
        again: it goes to the stores that are registered then.
        """)
  }

  fileprivate static func unanswered(_ name: String) -> DispatchError {
    DispatchError(
      code: .notRegistered,
      message: """
        No registered store handles the scheduled action "\(name)", and no effect follows it. Register them before \
        resumeWork().
        """)
  }
}
