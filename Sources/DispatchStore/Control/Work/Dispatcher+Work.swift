extension Dispatcher {
  /// Begins the work that an earlier process has left: durable effects, and scheduled actions.
  ///
  /// Call it once, when all stores and durable effects are registered, and all dispatchers that share the persistence
  /// are made, on any thread. Without persistence there is none. The work inherits neither cancellation nor deadline
  /// from a block that calls this.
  public func resumeWork() {
    outbox.resume(self)
    for record in savedSchedules?.resume() ?? [] { resume(record) }
  }

  private func resume(_ record: ScheduleRecord<any ActionType>) {
    if let interval = record.interval {
      // In a pause, an overdue run would be refused, and lost.
      guard registry.withLock(\.presentAcceptance) == .open else { return }
      let repeated = RepeatedAction(
        action: record.action, name: record.name, storeIdentifier: record.store,
        mode: record.mode.mode, isResumed: true, completion: nil, CallSite(#fileID, #line))
      return schedules.start(
        repeated, Repetition(interval: interval, missed: record.missed), due: record.due)
    }
    if record.missed == .skip, record.due <= clock.unixNanoseconds {
      _ = savedSchedules?.removeFound(record.name)
    } else {
      guard let saved = savedSchedules else { return }
      dispatch(
        record, SavedSchedule(of: record, in: saved),
        by: ScheduleRule(begin: .at(.date(record.due)), name: record.name, missed: record.missed))
    }
  }

  /// Dispatches a saved action, whose commit removes its row; at once, or by a rule.
  @discardableResult
  private func dispatch(
    _ record: ScheduleRecord<any ActionType>, _ companion: SavedSchedule, by rule: ScheduleRule?
  ) -> DispatchHandle {
    let options = DispatchOptions().controlled {
      ($0.companions, $0.start, $0.key) = ([companion], rule.map(LaterStart.schedule), record.key)
      // The work is not that of the block that resumes it: neither its cancellation nor its deadline ends it.
      $0.isDetached = true
    }
    return dispatch(record.action, to: record.store, mode: record.mode.mode, options: options)
  }

  /// The work of durable effects that is not done, in the order in which it came; without dead letters.
  public var pendingEffects: [PendingEffect] {
    outbox.entries(haveFailed: false).map(PendingEffect.init)
  }

  /// The work that has failed for good: its attempts are used up, or its action can't be decoded.
  public var deadLetters: [DeadLetter] {
    let effects = outbox.entries(haveFailed: true).compactMap(DeadLetter.init)
    guard let saved = savedSchedules else { return effects }
    return effects + saved.letters.map { DeadLetter($0, foundAt: saved.openingTime) }
  }

  /// Removes work that is not done: no attempt begins any more, in this process and in the next one.
  ///
  /// An attempt under way is cancelled with its dispatches, and what it returns is ignored. Only the outside world knows
  /// whether it was reached. Once an attempt has returned its action, the work can't be removed, unless that action fails.
  ///
  /// - Returns: Whether the work was removed; false if it is done or about to be, or a dead letter.
  @discardableResult
  public func remove(_ work: PendingEffect) -> Bool { outbox.remove(work.key, isLetter: false) }

  /// Runs the work of a dead letter again, with all of its attempts and the same key.
  ///
  /// It inherits neither cancellation nor deadline from a block that calls this. If its effect is not registered, it
  /// begins once that is.
  ///
  /// - Returns: Whether it was a dead letter still, its action is known, and the work was accepted. It stays a dead
  ///   letter if a full limit or a closed dispatcher refuses it.
  @discardableResult
  public func runAgain(_ letter: DeadLetter) -> Bool {
    switch letter.kind {
    case .effect: outbox.runAgain(letter.key, by: self)
    case .schedule: runAgain(named: letter.key)
    }
  }

  private func runAgain(named name: String) -> Bool {
    guard let saved = savedSchedules, let letter = saved.takeLetter(name, if: { $0.action != nil }),
      let action = letter.action
    else { return false }
    let failed = letter.with(action)
    var record = failed
    (record.error, record.failed) = (nil, nil)
    let companion = SavedSchedule(of: record, in: saved)
    // A dead letter runs at once. Zero is before all arrivals: what is scheduled under its name keeps the row.
    companion.came(0)
    let handle = dispatch(record, companion, by: nil)
    // A dispatch that is refused before it is admitted has no companion, which would make a dead letter of it again.
    handle.dispatch?.at(.over) {
      if !companion.hasEnded { saved.putBack(failed) }
    }
    return !handle.isOver || companion.hasEnded
  }

  /// Removes a dead letter: its work is never done.
  ///
  /// - Returns: Whether it was a dead letter still.
  @discardableResult
  public func remove(_ letter: DeadLetter) -> Bool {
    switch letter.kind {
    case .effect: outbox.remove(letter.key, isLetter: true)
    case .schedule: savedSchedules?.removeLetter(letter.key) == true
    }
  }
}
