import Foundation

/// The scheduled actions of a dispatcher that are saved.
final class SavedSchedules: DispatcherAttachment {
  let keeper: CompanionKeeper
  private let dispatcher: String
  /// The beginning of the keys of its rows, unlike that of any other dispatcher's.
  private let rowPrefix: String
  private weak let owner: Dispatcher?
  private let clock: DispatcherClock
  /// The time at which this process has found what an earlier one has left, in milliseconds since 1970.
  let openingTime: Int64
  private let found: Locked<FoundSchedules>
  private let state = Locked(State())

  private typealias Letter = (letter: ScheduleLetter, number: Int)

  private struct State {
    /// The records that the rows stand for.
    var records = ScheduleRecords<ScheduleRecord<any ActionType>>()
    /// By name: what has failed for good, or can't be decoded and so has no time of a failure, with the number of its
    /// arrival; zero for what an earlier process has left.
    var letters: [String: Letter] = [:]
    /// The types of actions of which it was reported that they are not saved.
    var unsaved: Set<ObjectIdentifier> = []
    var isResumed = false
    /// Whether it was reported that nobody has resumed what an earlier process has left.
    var hasReportedLeft = false
  }

  init(
    of dispatcher: Dispatcher, _ keeper: CompanionKeeper, found: Locked<FoundSchedules>
  ) {
    _ = found.withLock { $0.dispatchers.insert(dispatcher.name) }
    (self.dispatcher, clock, owner) = (dispatcher.name, dispatcher.clock, dispatcher)
    (self.keeper, self.found, openingTime) = (keeper, found, dispatcher.clock.unixMilliseconds)
    rowPrefix = dispatcher.name.replacing("%", with: "%25").replacing("/", with: "%2F") + "/"
  }

  /// Whether the dispatcher is closed, so that what is pending is left to the next process.
  var isClosed: Bool { owner?.isClosed != false }

  /// Whether what is pending under a name is saved.
  func contains(_ name: String) -> Bool { state.withLock { $0.records[name] != nil } }

  /// Calls back with whether what is due under a name may begin; if not, what is saved is left to another process.
  func whenMayBegin(_ name: String, _ body: @escaping @Sendable (Bool) -> Void) {
    guard contains(name) else { return body(true) }
    // The dispatcher may be closed while the database is asked.
    keeper.whenOwner { body($0 && !self.isClosed) }
  }

  /// Returns the row of a name, which is saved only if it is current when its turn comes.
  private func row(
    _ name: String, _ record: ScheduleRecord<any ActionType>?,
    if isCurrent: @escaping @Sendable () -> Bool
  ) -> CompanionRow {
    CompanionRow(
      kind: .schedule, key: rowKey(of: name), value: record, isCurrent: isCurrent)
  }

  /// The key of a name's row.
  private func rowKey(of name: String) -> String { "\(rowPrefix)\(name)".inFormC }

  // MARK: Saving

  /// Saves an action, unless a later one of its name is saved.
  ///
  /// If the action, its name or its mode can't be saved, the row of an earlier one of its name is removed.
  ///
  /// - Parameter number: The number of the action's arrival.
  func save(
    _ action: any ActionType, named name: String, to storeIdentifier: String?,
    _ mode: Dispatcher.Mode, due: Int64, _ missed: MissedRuns, interval: Int64? = nil,
    key: IdempotencyKey? = nil, _ number: Int
  ) {
    let (obstacle, savedMode) = (obstacle(to: action, named: name), SavedMode(mode))
    guard obstacle == nil, let savedMode else {
      // An action that can be encoded is meant to be saved.
      if action is any Codable {
        reportUnsaved(name, type(of: action), obstacle ?? "lanes of \(mode) can't be saved")
      }
      return saveNothing(of: name, number)
    }
    let record = ScheduleRecord<any ActionType>(
      dispatcher: dispatcher, name: name, action: action, store: storeIdentifier, mode: savedMode,
      due: due, interval: interval, skipsMissed: missed == .skip, key: key)
    enter(record, number)
    _ = takePending(name)
    if let row = row(name, record, of: number) { keeper.save([row]) }
  }

  /// Whether an action can be saved under a name.
  func canSave(_ action: any ActionType, named name: String, in mode: Dispatcher.Mode) -> Bool {
    obstacle(to: action, named: name) == nil && SavedMode(mode) != nil
  }

  /// Why an action can't be saved under a name; nil if it can.
  private func obstacle(to action: any ActionType, named name: String) -> String? {
    if let obstacle = keeper.obstacle(type(of: action)) { return obstacle }
    let fits = CompanionRow.canHave(key: rowKey(of: name))
    return fits ? nil : "its name has more than \(CompanionRow.maxKeySize) bytes, or U+0000"
  }

  /// Reports an action that stays in memory, once for each type.
  private func reportUnsaved(_ name: String, _ type: any ActionType.Type, _ reason: String) {
    guard state.withLock({ $0.unsaved.insert(ObjectIdentifier(type)).inserted }) else { return }
    owner?.report(
      .scheduleNotSaved,
      """
      The scheduled action "\(name)" of type \(type) is not saved in dispatcher "\(dispatcher)", and is lost with \
      the process: \(reason). Further ones of its type are not reported.
      """)
  }

  /// Removes the row of a name whose latest schedule can't be saved.
  func saveNothing(of name: String, _ number: Int) {
    takeOver(name, by: number)
    remove(name, number)
    _ = removeFound(name)
  }

  /// Takes what an earlier process has left pending under a name; returns whether something was there.
  ///
  /// - Parameter ifUndecoded: Whether to leave an action that can be decoded.
  func takePending(_ name: String, ifUndecoded: Bool = false) -> Bool {
    let taken = found.withLock { found -> ScheduleLetter? in
      guard let letter = found.letters[rowKey(of: name)], letter.failed == nil,
        !ifUndecoded || letter.action == nil
      else { return nil }
      return found.letters.removeValue(forKey: rowKey(of: name))
    }
    return taken != nil
  }

  /// Enters a record, unless a later one of its name is there.
  func enter(_ record: ScheduleRecord<any ActionType>, _ number: Int) {
    state.withLockReleasing { $0.records.enter(record, record.name, number) }
  }

  /// Gives the row of a record that is replaced to a later arrival, which saves its own in its place.
  ///
  /// If it were removed, a crash between the two would lose both.
  func takeOver(_ name: String, by number: Int) {
    state.withLock { $0.records.takeOver(name, by: number) }
  }

  /// The companion of a run of a repeating schedule; nil if the schedule is not saved.
  func run(of action: RepeatedAction, by dispatcher: Dispatcher) -> SavedRun? {
    guard let (due, number) = dispatcher.schedules.next(of: action),
      var record = state.withLock({ $0.records[action.name, number] })
    else { return nil }
    record.due = due
    return SavedRun(record, number, in: self)
  }

  /// The row of a record that has changed, or its removal; nil if another one has replaced it, or it was removed.
  func row(
    _ name: String, _ record: ScheduleRecord<any ActionType>?, of number: Int
  ) -> CompanionRow? {
    guard isCurrent(name, number) else { return nil }
    return row(name, record) { [weak self] in self?.isCurrent(name, number) == true }
  }

  /// Whether the record of this number is there, so that its action is to be saved.
  func isCurrent(_ name: String, _ number: Int) -> Bool {
    state.withLock { $0.records[name, number] != nil }
  }

  /// Forgets a record whose row is removed.
  func forget(_ name: String, _ number: Int) {
    state.withLockReleasing { $0.records.remove(name, number) }
  }

  /// Removes a record and its row, unless a later one has replaced it.
  func remove(_ name: String, _ number: Int) {
    guard let row = row(name, nil, of: number) else { return }
    // First, since the row is saved only while its record is the present one.
    keeper.save([row])
    forget(name, number)
  }

  /// Removes what an earlier process has left pending under a name; returns whether something was there.
  func removeFound(_ name: String) -> Bool {
    if !takePending(name) { return false }
    removeRow(name)
    return true
  }

  /// Removes what an earlier process has left under a name and was never run, also if `resume()` could not decode it;
  /// returns whether something was there.
  func cancelFound(_ name: String) -> Bool {
    // In this order: `resume()` moves what can't be decoded from there to here.
    guard takePending(name) || takeLetter(name, if: { $0.failed == nil }) != nil else {
      return false
    }
    removeRow(name)
    return true
  }

  /// Removes the row of a name that has no record and no dead letter.
  func removeRow(_ name: String) { saveRow(name, of: nil, nil) }

  /// Saves the row of a dead letter, or its removal.
  ///
  /// Saves nothing if the row belongs to another one by then: to an action that is scheduled under the name, or to a
  /// later dead letter. A letter that was removed has no row.
  private func saveRow(
    _ name: String, of number: Int?, _ letter: ScheduleRecord<any ActionType>?
  ) {
    yieldPoint(.saveSchedule, name)
    let row = row(name, letter) { [weak self] in self?.hasRow(name, of: number) == true }
    keeper.save([row])
  }

  private func hasRow(_ name: String, of number: Int?) -> Bool {
    state.withLock { $0.records[name] == nil && $0.letters[name]?.number == number }
  }

  // MARK: Failures

  /// Keeps an action that has failed as a dead letter, unless another one has its name, and its row.
  func fail(_ name: String, _ number: Int, _ error: any Error) {
    let now = clock.unixMilliseconds
    let text = "\(error)"
    let (letter, former) = state.withLock { state -> (ScheduleRecord<any ActionType>?, Letter?) in
      guard var record = state.records.remove(name, number) else { return (nil, nil) }
      (record.error, record.failed) = (text, now)
      let new: Letter = (record.with(record.action), number)
      return (record, state.letters.updateValue(new, forKey: name))
    }
    // Outside of the lock, since an action's deinit is the user's code.
    withExtendedLifetime(former) {}
    if let letter {
      saveRow(name, of: number, letter)
    } else if !contains(name) {
      return  // Not saved, so that only its result says that it has failed.
    }
    let rest =
      letter == nil
      ? "It is kept nowhere, because another one is scheduled by its name."
      : "It is kept as a dead letter."
    owner?.report(
      .deadLetter,
      """
      The scheduled action "\(name)" failed in dispatcher "\(dispatcher)": \(error) \(rest)
      """)
  }

  /// The dead letters, by name, with what can't be decoded.
  ///
  /// That stays where it was found until `resume()`: a repeating schedule that is declared again takes its time from there.
  var letters: [ScheduleLetter] {
    takeLetters(undecoded: false)
    // Under both locks, so that a call of `resume()` meanwhile neither hides nor repeats one.
    let all = found.withLock { found -> [ScheduleLetter] in
      let undecoded = found.letters.values.filter {
        $0.dispatcher == dispatcher && $0.action == nil
      }
      return undecoded + state.withLock { $0.letters.values.map(\.letter) }
    }
    return all.sorted { $0.name < $1.name }
  }

  func takeLetter(_ name: String, if condition: (ScheduleLetter) -> Bool) -> ScheduleLetter? {
    state.withLock { state in
      guard let letter = state.letters[name]?.letter, condition(letter) else { return nil }
      state.letters[name] = nil
      return letter
    }
  }

  /// Keeps a dead letter again that was taken to be run, and was refused.
  func putBack(_ failed: ScheduleRecord<any ActionType>) {
    let name = failed.name
    let new: Letter = (failed.with(failed.action), 0)
    state.withLockReleasing { state in
      if state.letters[name] == nil { state.letters[name] = new }
      return state.records.remove(name, 0)
    }
    // Saved again, since the writer skips the row if the letter is taken when its turn comes.
    saveRow(name, of: 0, failed)
  }

  func removeLetter(_ name: String) -> Bool {
    // In this order: `resume()` moves what can't be decoded from there to here.
    guard takePending(name, ifUndecoded: true) || takeLetter(name, if: { _ in true }) != nil else {
      return false
    }
    removeRow(name)
    return true
  }

  // MARK: After a restart

  /// Actions that an earlier process has left pending, and nobody has resumed; in no order.
  private var foundPending: [ScheduleLetter] {
    found.withLock { found in
      found.letters.values.filter { $0.dispatcher == dispatcher && $0.failed == nil }
    }
  }

  /// Pending actions that an earlier process has left; without those that can't be decoded.
  var left: [ScheduleRecord<any ActionType>] {
    foundPending.compactMap { letter -> ScheduleRecord<any ActionType>? in
      letter.action.map { letter.with($0) }
    }
  }

  /// The time of a repeating schedule that an earlier process has left.
  func foundDue(of name: String) -> Int64? {
    let letter = found.withLock { $0.letters[rowKey(of: name)] }
    return letter?.interval != nil && letter?.failed == nil ? letter?.due : nil
  }

  /// Returns what an earlier process has left pending, in the order of its times; `takePending` takes it once it is
  /// scheduled.
  ///
  /// If the store or the dispatcher of an action is not there, leaves the action, with a warning. An action that can't
  /// be decoded becomes a dead letter.
  func resume() -> [ScheduleRecord<any ActionType>] {
    state.withLock { $0.isResumed = true }
    takeLetters(undecoded: true)
    let stores = Set(owner?.stores.map(\.identifier) ?? [])
    let pending = left.filter { $0.store.map(stores.contains) != false }
    reportLeft(but: Set(pending.map(\.name)))
    return pending.sorted { ($0.due, $0.name) < ($1.due, $1.name) }
  }

  /// Makes dead letters of the failed actions of an earlier process and, if asked for, of those that can't be decoded.
  private func takeLetters(undecoded: Bool) {
    let taken = found.withLock { found -> [ScheduleLetter] in
      let taken = found.letters.values.filter { letter in
        letter.dispatcher == dispatcher
          && (letter.failed != nil || undecoded && letter.action == nil)
      }
      for letter in taken { found.letters[rowKey(of: letter.name)] = nil }
      // Under both locks, so that a list of the dead letters has each of them at any time.
      state.withLock { state in
        for letter in taken where state.letters[letter.name] == nil {
          state.letters[letter.name] = (letter, 0)
        }
      }
      return taken.sorted { ($0.due, $0.name) < ($1.due, $1.name) }
    }
    // Reported after all are taken: the program's handler may list the dead letters, and come here again.
    for letter in taken where letter.action == nil {
      owner?.report(
        .workNotResumed,
        """
        The scheduled action "\(letter.name)" stays saved, and can't go on. \(letter.error ?? "")
        """)
    }
  }

  /// The number of pending schedules that are saved; without those that can't be decoded.
  var count: Int { state.withLock(\.records.count) + left.count }

  /// Reports what an earlier process has left, if nobody has asked for it.
  func closed(_ dispatcher: Dispatcher) {
    let count = foundPending.count
    if count == 0 { return }
    // Closing, draining and shutting down come here, each in turn.
    let isReported = state.withLock { state in
      if state.isResumed || state.hasReportedLeft { return false }
      state.hasReportedLeft = true
      return true
    }
    if !isReported { return }
    dispatcher.report(
      .workNotResumed,
      """
      An earlier process has left scheduled actions of dispatcher "\(dispatcher.name)" (\(count)), which is closed \
      without a call of resumeWork(). They stay saved.
      """)
  }

  /// Reports what stays because its store or its dispatcher is not there.
  private func reportLeft(but names: Set<String>) {
    let (left, dispatchers) = found.withLock { ($0.letters.values, $0.dispatchers) }
    let stuck = left.filter { letter in
      letter.dispatcher == dispatcher
        ? !names.contains(letter.name) : !dispatchers.contains(letter.dispatcher)
    }.sorted { $0.name < $1.name }
    let byReason = Dictionary(grouping: stuck) { letter in
      letter.dispatcher == dispatcher
        ? "store \"\(letter.store ?? "")\" is not registered with dispatcher \"\(dispatcher)\""
        : "no dispatcher is named \"\(letter.dispatcher)\""
    }
    for (missing, letters) in byReason.sorted(by: { $0.key < $1.key }) {
      owner?.report(
        .workNotResumed,
        """
        Scheduled actions stay saved, and do not begin (\(letters.count), of which one is "\(letters[0].name)"): \
        \(missing). Make it before resumeWork().
        """)
    }
  }
}

/// The schedules that an earlier process has left, of all dispatchers that share a persistence.
struct FoundSchedules {
  /// By the keys of their rows; with an error, and no action, if that can't be decoded.
  var letters: [String: ScheduleLetter] = [:]
  /// The names of the dispatchers that this process has made so far.
  var dispatchers: Set<String> = []
}

extension Dispatcher {
  /// The saved schedules; nil without persistence.
  var savedSchedules: SavedSchedules? { attachment(SavedSchedules.self) }
}
