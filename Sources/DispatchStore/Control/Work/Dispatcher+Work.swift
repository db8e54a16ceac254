extension Dispatcher {
  /// Begins the work that an earlier process has left: durable effects, and scheduled actions.
  ///
  /// Call it once, when all stores and durable effects are registered. Without persistence it does nothing.
  public func resumeWork() {
    outbox.resume(self)
    for record in savedSchedules?.takeFound() ?? [] { resume(record) }
  }

  private func resume(_ record: ScheduleRecord) {
    guard let saved = savedSchedules else { return }
    if let interval = record.interval {
      let repeated = RepeatedAction(
        action: record.action, name: record.name, storeIdentifier: record.storeIdentifier,
        mode: record.mode.mode, completion: nil, fileID: #fileID, line: #line)
      return schedules.start(
        repeated, Repetition(interval: interval, missed: record.missed), due: record.due)
    }
    if record.missed == .skip, record.due <= clock.unixNanoseconds {
      saved.remove(record.name, record)
      return
    }
    let companion = SavedSchedule(
      named: record.name, due: record.due, record.missed, in: saved, saved.adopt(record))
    let rule = ScheduleRule(begin: .at(record.due), name: record.name, missed: record.missed)
    let options = DispatchOptions().controlled {
      ($0.companions, $0.start, $0.key) = ([companion], .schedule(rule), record.key)
    }
    dispatch(
      record.action, to: record.storeIdentifier, mode: record.mode.mode, options: options)
  }

  /// The work of durable effects that is not done, in the order in which it came; without dead letters.
  public var pendingEffects: [PendingEffect] {
    outbox.all.filter { $0.progress.failed == nil }.map(PendingEffect.init)
  }

  /// The work that has failed for good: its attempts are used up, or its action can't be decoded.
  public var deadLetters: [DeadLetter] {
    outbox.all.compactMap(DeadLetter.init)
      + (savedSchedules?.letters.map(DeadLetter.init) ?? [])
  }

  /// Runs the work of a dead letter again, with all of its attempts and the same key.
  ///
  /// - Returns: Whether it was a dead letter still, and its action is known.
  @discardableResult
  public func runAgain(_ letter: DeadLetter) -> Bool {
    switch letter.kind {
    case .effect: outbox.runAgain(letter.key, by: self)
    case .schedule: runAgain(named: letter.key)
    }
  }

  private func runAgain(named name: String) -> Bool {
    guard let saved = savedSchedules, let letter = saved.takeLetter(name, mustRun: true),
      let action = letter.action
    else { return false }
    let record = saved.record(of: letter, action)
    let companion = SavedSchedule(
      named: name, due: record.due, record.missed, in: saved, saved.adopt(record))
    dispatch(
      action, to: letter.storeIdentifier, mode: letter.mode,
      options: DispatchOptions().controlled { $0.companions = [companion] })
    return true
  }

  /// Removes a dead letter: its work is never done.
  ///
  /// - Returns: Whether it was a dead letter still.
  @discardableResult
  public func remove(_ letter: DeadLetter) -> Bool {
    switch letter.kind {
    case .effect: outbox.removeLetter(letter.key)
    case .schedule: savedSchedules?.removeLetter(letter.key) == true
    }
  }
}
