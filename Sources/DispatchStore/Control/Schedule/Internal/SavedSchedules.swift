import Foundation

/// The scheduled actions of a dispatcher that are saved.
final class SavedSchedules: DispatcherAttachment {
  let keeper: CompanionKeeper
  private let dispatcher: String
  private weak let owner: Dispatcher?
  private let clock: DispatcherClock
  /// The rows that an earlier process has left, of all dispatchers that share the persistence.
  private let found: Locked<[ScheduleRow]>
  private let state = Locked(State())

  private struct State {
    /// By name: what its row stands for.
    var records: [String: Saved] = [:]
    /// By name: what has failed for good.
    var letters: [String: ScheduleLetter] = [:]
    var lastGeneration = 0

    /// Enters a record in place of a former one of its name; returns its generation.
    mutating func enter(_ record: ScheduleRecord<any ActionType>, _ arrival: Int?) -> Int {
      lastGeneration += 1
      records[record.name] = Saved(generation: lastGeneration, record: record, arrival: arrival)
      return lastGeneration
    }
  }

  private struct Saved {
    /// Distinguishes the record from those that it has replaced.
    let generation: Int
    let record: ScheduleRecord<any ActionType>
    /// The place in the order in which dispatches of its name came; nil for any other record.
    var arrival: Int?
  }

  init(
    of dispatcher: Dispatcher, _ keeper: CompanionKeeper, found: Locked<[ScheduleRow]>
  ) {
    (self.dispatcher, clock, owner) = (dispatcher.name, dispatcher.clock, dispatcher)
    (self.keeper, self.found) = (keeper, found)
  }

  /// Whether the dispatcher is closed, so that what is pending is left to the next process.
  var isClosed: Bool { owner?.isClosed != false }

  /// Whether what is pending under a name is saved.
  func contains(_ name: String) -> Bool { state.withLock { $0.records[name] != nil } }

  private func row(_ name: String, _ record: ScheduleRecord<any ActionType>?) -> CompanionRow {
    CompanionRow(kind: .schedule, key: "\(dispatcher)/\(name)".inFormC, value: record)
  }

  // MARK: Saving

  /// Saves an action; returns the generation of its record, or nil if the action, its name or its mode can't be saved.
  ///
  /// If the action can't be saved, a former one of its name is removed. If a dispatch of its name that came later is
  /// saved, this one is not.
  func save(
    _ action: any ActionType, named name: String, to storeIdentifier: String?,
    _ mode: Dispatcher.Mode, due: Int64, _ missed: MissedRuns, interval: Int64? = nil,
    key: IdempotencyKey? = nil, after arrival: Int? = nil
  ) -> Int? {
    guard keeper.obstacle(type(of: action)) == nil, CompanionRow.canHave(key: name),
      let mode = SavedMode(mode)
    else {
      remove(name)
      return nil
    }
    let record = ScheduleRecord<any ActionType>(
      dispatcher: dispatcher, name: name, action: action, store: storeIdentifier, mode: mode,
      due: due, interval: interval, skipsMissed: missed == .skip, key: key)
    let generation = state.withLock { state -> Int? in
      if let arrival, let present = state.records[name]?.arrival, present > arrival { return nil }
      return state.enter(record, arrival)
    }
    guard let generation else { return nil }
    if let row = row(of: record, generation) { keeper.save([row]) }
    return generation
  }

  /// Enters a record, whose row is there; returns its generation.
  func enter(_ record: ScheduleRecord<any ActionType>) -> Int {
    state.withLock { $0.enter(record, nil) }
  }

  /// Saves a repeating schedule.
  func save(_ action: RepeatedAction, _ repetition: Repetition, due: Int64) {
    _ = save(
      action.action, named: action.name, to: action.storeIdentifier, action.mode, due: due,
      repetition.missed, interval: repetition.interval)
  }

  /// The options for a run of a repeating schedule, whose commit saves the time of the next run.
  func options(forRunOf action: RepeatedAction, by dispatcher: Dispatcher) -> DispatchOptions {
    guard let due = dispatcher.schedules.nextDue(of: action),
      let saved = state.withLock({ $0.records[action.name] })
    else { return [] }
    var record = saved.record
    record.due = due
    let run = SavedRun(record, saved.generation, in: self)
    return DispatchOptions().controlled { $0.companions = [run] }
  }

  /// The removal of a record's row; nil if another one has replaced it.
  func removal(of name: String, _ generation: Int) -> CompanionRow? {
    current(row(name, nil), name, generation)
  }

  /// The row of a record that was changed; nil if another one has replaced it, or it was removed.
  func row(of record: ScheduleRecord<any ActionType>, _ generation: Int) -> CompanionRow? {
    current(row(record.name, record), record.name, generation)
  }

  /// Returns a row that is saved only if no other record has replaced its own; nil if one has already.
  private func current(_ row: CompanionRow, _ name: String, _ generation: Int) -> CompanionRow? {
    guard isCurrent(name, generation) else { return nil }
    var row = row
    row.isCurrent = { [weak self] in self?.isCurrent(name, generation) == true }
    return row
  }

  private func isCurrent(_ name: String, _ generation: Int) -> Bool {
    state.withLock { $0.records[name]?.generation == generation }
  }

  /// Keeps the row of a record that is replaced until that of another one takes its place.
  ///
  /// Otherwise a crash between the two would lose both.
  func disown(_ name: String) {
    state.withLock { state in
      guard let present = state.records[name] else { return }
      _ = state.enter(present.record, present.arrival)
    }
  }

  /// Forgets a record whose row is removed.
  func forget(_ name: String, _ generation: Int) {
    state.withLock { state in
      if state.records[name]?.generation == generation { state.records[name] = nil }
    }
  }

  /// Removes the record of a name, and its row.
  func remove(_ name: String) {
    let record = state.withLock { $0.records.removeValue(forKey: name) }
    if record != nil { removeRow(name) }
    _ = removeFound(name)
  }

  /// Removes what an earlier process has left under a name; returns whether something was there.
  func removeFound(_ name: String) -> Bool {
    if takeFound({ $0.name == name }).isEmpty { return false }
    removeRow(name)
    return true
  }

  func removeRow(_ name: String) { keeper.save([row(name, nil)]) }

  // MARK: Failures

  /// Keeps an action that has failed as a dead letter.
  func fail(_ name: String, _ generation: Int, _ error: any Error) {
    let now = clock.unixMilliseconds
    let record = state.withLock { state -> ScheduleRecord<any ActionType>? in
      guard let saved = state.records[name], saved.generation == generation else { return nil }
      state.records[name] = nil
      var record = saved.record
      (record.error, record.failed) = ("\(error)", now)
      state.letters[name] = record.with(record.action)
      return record
    }
    guard let record else { return }
    keeper.save([row(name, record)])
    owner?.report(
      DispatchWarning(
        kind: .deadLetter, storeIdentifier: nil,
        message: """
          The scheduled action "\(name)" failed in dispatcher "\(dispatcher)": \(error) It is kept as a dead letter.
          """))
  }

  var letters: [ScheduleLetter] {
    state.withLock { $0.letters }.sorted { $0.key < $1.key }.map(\.value)
  }

  func takeLetter(_ name: String, mustRun: Bool) -> ScheduleLetter? {
    state.withLock { state in
      guard let letter = state.letters[name], !mustRun || letter.action != nil else { return nil }
      return state.letters.removeValue(forKey: name)
    }
  }

  func removeLetter(_ name: String) -> Bool {
    guard takeLetter(name, mustRun: false) != nil else { return false }
    removeRow(name)
    return true
  }

  // MARK: After a restart

  private func takeFound(_ condition: (ScheduleRow) -> Bool) -> [ScheduleRow] {
    found.withLock { found in
      let taken = found.filter { $0.dispatcher == dispatcher && condition($0) }
      found.removeAll { $0.dispatcher == dispatcher && condition($0) }
      return taken
    }
  }

  /// Takes the time of a repeating schedule that an earlier process has left.
  func takeDue(of name: String) -> Int64? {
    takeFound { $0.name == name && $0.interval != nil && $0.failed == nil }.first?.due
  }

  /// Takes what an earlier process has left; what can't go on becomes a dead letter.
  func takeFound() -> [ScheduleRecord<any ActionType>] {
    takeFound { _ in true }.compactMap { row in
      var letter: ScheduleLetter = row.with(nil)
      do {
        let record = row.with(try keeper.decodeAction(row.action))
        if record.failed == nil { return record }
        letter = record.with(record.action)
      } catch {
        // The row stays as it is: the next deployment may know the action again.
        letter.error = "Its action can't be decoded: \(error)"
        letter.failed = row.failed ?? clock.unixMilliseconds
        owner?.report(
          DispatchWarning(
            kind: .workNotResumed, storeIdentifier: nil,
            message: """
              The scheduled action "\(row.name)" stays saved, and can't go on. \(letter.error!)
              """))
      }
      state.withLock { $0.letters[row.name] = letter }
      return nil
    }
  }
}

/// The saved schedules of a dispatcher that has a persistence.
final class DispatcherSchedules: DispatcherAttachment {
  let saved: SavedSchedules?

  init(_ saved: SavedSchedules?) { self.saved = saved }
}

extension Dispatcher {
  var savedSchedules: SavedSchedules? { attachment(orAdd: DispatcherSchedules(nil)).saved }
}
