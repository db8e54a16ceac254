/// A scheduled dispatch whose row is removed in the action's own commit.
final class SavedSchedule: DispatchCompanion, @unchecked Sendable {
  // because `state` is locked, and all else constant
  private let name: String
  private let due: Int64
  private let missed: MissedRuns
  private let key: IdempotencyKey?
  private let schedules: SavedSchedules
  private let state: Locked<State>

  private struct State {
    /// The generation of its record; nil if it is not saved.
    var generation: Int?
    /// The place in the order in which dispatches of its name came.
    var arrival: Int?
    /// Whether a commit has removed the row.
    var isRemoved = false
    /// Whether the dispatcher has closed, so that the row is left to the next process.
    var isLeft = false
  }

  /// - Parameter key: The dispatch's idempotency key.
  init(
    named name: String, due: Int64, _ missed: MissedRuns, _ key: IdempotencyKey?,
    in schedules: SavedSchedules
  ) {
    (self.name, self.due, self.missed, self.key) = (name, due, missed, key)
    (self.schedules, state) = (schedules, Locked(State()))
  }

  /// Takes over a record whose row is there.
  init(of record: ScheduleRecord<any ActionType>, in schedules: SavedSchedules) {
    (name, due, missed, key) = (record.name, record.due, record.missed, record.key)
    self.schedules = schedules
    state = Locked(State(generation: schedules.enter(record)))
  }

  override func noteDelay(_ subject: DelayedDispatch) {
    guard state.withLock({ $0.generation == nil }) else { return }
    guard !subject.isSequence else {
      schedules.remove(name)
      return
    }
    let generation = schedules.save(
      subject.actions[0], named: name, to: subject.storeIdentifier, subject.mode, due: due, missed,
      key: key, after: state.withLock(\.arrival))
    state.withLock { $0.generation = generation }
    if isPlanted(.scheduleRemovedFirst), let row = removal.first { schedules.keeper.save([row]) }
  }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] { removal }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    result.isSuccess && !state.withLock(\.isRemoved) ? removal : []
  }

  private var removal: [CompanionRow] {
    guard let generation = state.withLock(\.generation),
      let row = schedules.removal(of: name, generation)
    else { return [] }
    state.withLock { $0.isRemoved = true }
    return [row]
  }

  /// Notes that it waits; called before its row is saved.
  func came(_ arrival: Int) { state.withLock { $0.arrival = arrival } }

  /// Leaves the row to the next process, if the dispatch is cancelled from now on.
  func leave() { state.withLock { $0.isLeft = true } }

  override func cancelledBeforeItsTime() {
    let (generation, isLeft) = state.withLock { ($0.generation, $0.isLeft) }
    if let generation, !isLeft { remove(generation) }
  }

  override func ended(_ result: DispatchResult) {
    let (generation, isRemoved) = state.withLock { ($0.generation, $0.isRemoved) }
    guard let generation else { return }
    if isRemoved { return schedules.forget(name, generation) }
    switch result.error {
    case nil: remove(generation)
    case is CancellationError:
      // A closed dispatcher leaves the row to the next process; anybody else has cancelled the dispatch. If it was
      // cancelled before its time, the row is gone already.
      if !schedules.isClosed { remove(generation) }
    case let error as DispatchError
    where [.persistenceFailed, .dispatcherClosed].contains(error.code): break
    case let error as DispatchError where error.code == .skipped: remove(generation)
    case let error?: schedules.fail(name, generation, error)
    }
  }

  private func remove(_ generation: Int) {
    guard let row = schedules.removal(of: name, generation) else { return }
    // First, since the row is saved only while its record is the present one.
    schedules.keeper.save([row])
    schedules.forget(name, generation)
  }
}

/// A run of a repeating schedule, whose commit saves the time of the next run.
final class SavedRun: DispatchCompanion, @unchecked Sendable {
  // because `kept` is locked, and all else constant
  /// With the time of the next run.
  private let record: ScheduleRecord<any ActionType>
  private let generation: Int
  private let schedules: SavedSchedules
  private let kept = Locked(false)

  init(_ record: ScheduleRecord<any ActionType>, _ generation: Int, in schedules: SavedSchedules) {
    (self.record, self.generation, self.schedules) = (record, generation, schedules)
  }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] { isPlanted(.dueAfterCommit) ? [] : keep() }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    kept.withLock { $0 } ? [] : keep()
  }

  private func keep() -> [CompanionRow] {
    kept.withLock { $0 = true }
    return rows
  }

  /// Empty once the schedule is cancelled or replaced.
  private var rows: [CompanionRow] {
    schedules.row(of: record, generation).map { [$0] } ?? []
  }

  override func ended(_ result: DispatchResult) {
    // A run that was cancelled is made up for by the next process.
    if !kept.withLock({ $0 }), !(result.error is CancellationError) {
      schedules.keeper.saveWithNext(rows)
    }
  }
}
