import Dispatch

// The role of the writer. A job takes it once something is committed; so does a thread that would block until its own
// commits are saved.
extension Persistence {
  /// Starts a job if something is to be written and nobody has the role.
  func requestWriter() {
    if state.withLock({ $0.commit.request() }) { startJob() }
  }

  private func startJob() {
    let job: @Sendable () -> Void = {
      yieldPoint(.takeWriter)
      if self.state.withLock({ $0.commit.take() }) { self.write() }
    }
    if let world { world.run(.substitute, job) } else { queue.async(execute: job) }
  }

  /// Writes on this thread until an end may pass, if nobody else does.
  func lead(_ end: PendingEnd) {
    yieldPoint(.takeWriter)
    guard state.withLock({ !end.isSaved && $0.commit.take() }) else { return requestWriter() }
    write { $0.saved >= end.commitNumber }
  }

  /// Writes group after group, until nothing is left or, between two groups, a condition holds.
  private func write(until isEnough: (GroupCommit) -> Bool = { _ in false }) {
    repeat {
      guard let current = takeCurrent() else { return }
      do {
        try write(current)
      } catch {
        guard wasWritten(current, despite: error) else { return }
      }
    } while !state.withLock({ isEnough($0.commit) })
    if state.withLock({ $0.commit.release() }) { startJob() }
  }

  /// Takes the group or errand that could not be written before, or else the next one; nil gives up the role.
  private func takeCurrent() -> Writer.Current? {
    if let current = writer.current {
      guard let error = state.withLock({ $0.commit.lastAttempt }) else { return current }
      fail(current, error)
      return nil
    }
    yieldPoint(.cutGroup)
    var batches: [any PersistedBatch] = []
    var further = WorkRows()
    let work = state.withLock { state in
      let work = state.commit.next()
      if case .group = work {
        batches = state.dirty.map { $0.take() }
        state.dirty = []
        swap(&state.work, &further)
      }
      return work
    }
    switch work {
    case .none: return nil
    case .failure(let error):
      fail(error)
      return nil
    case .errand(let errand): writer.current = .errand(errand)
    case .group(let commitNumber):
      do {
        let rows = try batches.map { try $0.rows() }
        let work = try further.encoded(by: companionEncoder, for: writer.driver)
        writer.current = .group(
          Writer.Group(commitNumber: commitNumber, batches: batches, rows: rows, work: work))
      } catch {
        fail(
          error as? PersistenceError ?? PersistenceError(.notEncodable, "\(error)", cause: error))
        return nil
      }
    }
    return writer.current
  }

  private func write(_ current: Writer.Current) throws {
    switch current {
    case .group(let group):
      // Not before its commit: if the group has made the store, that is undone with it.
      var workStore = writer.workStore
      try writer.inTransaction { try group.write($0, &workStore) }
      writer.workStore = workStore
    case .errand(let errand): try writer.inTransaction { try errand.run($0) }
    }
    didWrite(current)
  }

  private func didWrite(_ current: Writer.Current) {
    switch current {
    case .group(let group): didWrite(group)
    case .errand(let errand): didWrite(errand)
    }
  }

  private func didWrite(_ group: Writer.Group) {
    (writer.current, writer.failures) = (nil, 0)
    group.wasSaved()
    for batch in group.batches { report(batch.record) }
    let bytes = group.rows.reduce(group.work.byteCount) { $0 + $1.byteCount }
    reportLargeJournal(after: bytes)
    yieldPoint(.noteSaved)
    let passing = state.withLock { state in
      (state.status.group, state.status.lastError) = (writer.owner.group, nil)
      return state.commit.didSave(group.commitNumber, bytes: bytes)
    }
    pass(passing)
  }

  private func didWrite(_ errand: DatabaseErrand) {
    (writer.current, writer.failures) = (nil, 0)
    state.withLock { ($0.status.group, $0.status.lastError) = (writer.owner.group, nil) }
    errand.ended(nil)
    publishStatus()
  }

  private func pass(_ passing: GroupCommit.Passing) {
    resume(passing.ends)
    for call in passing.calls { call(passing.error) }
    for start in passing.resumed { start.resume() }
    for errand in passing.errands { errand.ended(passing.error) }
    publishStatus()
  }

  // MARK: Errors

  /// The shortest and the longest pause before another attempt, in nanoseconds.
  private static let pauses: (least: Int64, most: Int64) = (10_000_000, 1_000_000_000)

  /// Ends an attempt that has failed; returns false, without the role of the writer, if nothing was written.
  private func wasWritten(_ current: Writer.Current, despite thrown: any Error) -> Bool {
    let error =
      thrown as? PersistenceError
      ?? PersistenceError(.projection, "A projection threw \(thrown).", cause: thrown)
    // Only a group that is there proves something: after a failed `fsync`, the next process may find one in the
    // journal that is not there now.
    if !error.isOutcomeKnown, (try? writer.wasCommitted()) == true {
      didWrite(current)
      return true
    }
    if case .errand(let errand) = current,
      error.isOfErrand || error.isTransient && !errand.retries
    {
      end(errand, error)
    } else if error.isTransient {
      pause(current, after: error)
    } else {
      fail(current, error)
    }
    return false
  }

  /// Ends an errand that has failed, while saving goes on.
  private func end(_ errand: DatabaseErrand, _ error: PersistenceError) {
    // If the database commits an earlier attempt later, the next group would be taken for saved: it has that number.
    if writer.failures > 0 || !error.isOutcomeKnown {
      let standIn = Writer.Current.errand(errand.standIn(after: error))
      writer.current = standIn
      return pause(standIn, after: error)
    }
    writer.current = nil
    errand.ended(error)
    if state.withLock({ $0.commit.release() }) { startJob() }
  }

  /// Ends saving in the role of the writer.
  private func fail(_ current: Writer.Current, _ error: PersistenceError) {
    writer.current = nil
    if case .errand(let errand) = current { errand.ended(error) }
    fail(error)
  }

  private func pause(_ current: Writer.Current, after error: PersistenceError) {
    writer.failures += 1
    let failure = state.withLock { state in
      state.status.lastError = error
      return state.commit.pause()
    }
    if let failure { return fail(current, failure) }
    if writer.failures == 1 {
      report(.savingDelayed, "\(error.message) Saving is tried again; dispatches wait meanwhile.")
    }
    publishStatus()
    let factor = Int64(1) << min(Int64(writer.failures - 1), 16)
    let pause = min(Self.pauses.least * factor, Self.pauses.most)
    _ = timers.add(at: clock.nanoseconds.addingClamped(pause)) { self.endPause() }
  }

  private func endPause() {
    if state.withLock({ $0.commit.endPause() }) { startJob() }
  }

  /// Lets the writer end saving if there is something to write, once the attempt that is under way has ended.
  func giveUp(_ error: PersistenceError) {
    if state.withLock({ $0.commit.giveUp(error) }) { startJob() }
  }

  /// Ends everything that waits, since saving has failed.
  func fail(_ error: PersistenceError) { _ = fail { _ in error } }

  /// Ends everything that waits with an error that tells how many commits are not saved; returns both.
  func fail(
    with makeError: (_ lag: UInt64) -> PersistenceError
  ) -> (lag: UInt64, error: PersistenceError) {
    var unsaved: (batches: [any PersistedBatch], work: WorkRows) = ([], WorkRows())
    let (passing, lag, error) = state.withLock { state in
      let lag = state.commit.lag
      let error = state.commit.failure ?? makeError(lag)
      let passing = state.commit.fail(error)
      if error.code != .closed {
        (state.status.lastError, state.status.hasFailed) = (error, true)
      }
      // Released outside of the lock. Records keep the persistence.
      unsaved.batches = state.dirty.map { $0.take() }
      state.dirty = []
      swap(&unsaved.work, &state.work)
      return (passing, lag, error)
    }
    withExtendedLifetime(unsaved) {}
    pass(passing)
    return (lag, error)
  }

  // MARK: Reports

  /// Calls a closure after the reports of earlier warnings, and not on the writer's thread.
  func reportLater(_ body: @escaping @Sendable () -> Void) {
    warningQueue.enqueue(body, in: world)
  }

  /// Reports a warning that concerns all stores, to one of the dispatchers.
  func report(_ kind: DispatchWarning.Kind, _ message: String) {
    let dispatchers = state.withLock(\.dispatchers).sorted { $0.key < $1.key }
    let warning = DispatchWarning(kind: kind, storeIdentifier: nil, message: message)
    let dispatcher = dispatchers.lazy.compactMap(\.value.dispatcher).first
    reportLater {
      if let dispatcher {
        dispatcher.report(warning)
      } else {
        DispatchWarning.writeToStandardError(warning)
      }
    }
  }

  /// The size in bytes above which the row of a model is reported.
  private static let largeRow = 64 << 10

  private func report(_ record: PersistedRecord) {
    guard !record.hasReportedSize, let size = record.savedModel?.count, size > Self.largeRow
    else { return }
    record.hasReportedSize = true
    reportLater {
      record.report(
        .largeModelRow,
        """
        The row of its model has \(size / 1_024) KiB, and each commit that changes it writes all of it. Keep elements \
        in a TrackedDictionary, and register the store with persisted: .elements(…).
        """)
    }
  }
}

extension Persistence {
  /// The size in bytes above which the journal is reported.
  private static let largeJournal = 64 << 20

  /// Reports a large journal once, until it is small again.
  private func reportLargeJournal(after group: Int) {
    let bytes = writer.driver.journalBytes
    // The journal is large after a large group, too, and the next small one empties it.
    if bytes > Self.largeJournal, group > Self.largeJournal / 2 { return }
    writer.largeJournals = bytes > Self.largeJournal ? writer.largeJournals + 1 : 0
    guard writer.largeJournals == 2 else { return }
    report(
      .largeJournal,
      """
      The journal of \(writer.driver.description) has \(bytes >> 20) MiB, and grows with each transaction: another \
      program reads the database in a transaction that it doesn't end. End that transaction.
      """)
  }
}

extension DispatchQueue {
  /// Enqueues a call; in a simulated world, in the line that stands for the queue.
  func enqueue(_ body: @escaping @Sendable () -> Void, in world: (any SimulatedWorld)?) {
    if let world { world.run(.queue(ObjectIdentifier(self)), body) } else { async(execute: body) }
  }
}

extension PersistenceError {
  /// Whether it concerns one errand, whose transaction was rolled back, and not the database.
  fileprivate var isOfErrand: Bool {
    let codes: [Code] = [
      .notDecodable, .notEncodable, .newerVersion, .migration, .alreadyRegistered, .statement,
    ]
    return codes.contains(code) && isOutcomeKnown
  }
}
