import Foundation

/// The work of a dispatcher's durable effects that is not done.
final class Outbox: DispatcherAttachment {
  let keeper: CompanionKeeper?
  private let clock: DispatcherClock
  private let state = Locked(State())
  /// The work of an earlier process, until a dispatcher that shares the persistence resumes it.
  private let found: Locked<[OutboxEntry]>

  fileprivate struct State {
    /// All work, by key.
    var entries: [String: OutboxEntry] = [:]
    /// The work of dispatches that have committed, and not ended.
    var committed: [Cause: OutboxEntry] = [:]
    var effects: [String: WeakEffect] = [:]
    /// The runs that pause before another attempt, by the key of their work.
    var pausing: [String: EffectRun] = [:]
    var lastNumber = 0
    var isClosed = false
    /// Distinguishes the keys of this process from all others.
    let prefix = UUID().uuidString
  }

  fileprivate struct Cause: Hashable {
    let dispatch: DispatchID
    let effect: String
  }

  fileprivate struct WeakEffect { weak let effect: RegisteredEffect? }

  init(
    _ clock: DispatcherClock, savedBy keeper: CompanionKeeper? = nil,
    found: Locked<[OutboxEntry]> = Locked([])
  ) {
    (self.clock, self.keeper, self.found) = (clock, keeper, found)
  }

  // MARK: Effects

  /// Adds an effect; returns false if another one has its name.
  func add(_ effect: RegisteredEffect, named name: String) -> Bool {
    state.withLock { state in
      if state.effects[name]?.effect?.isRegistered == true { return false }
      state.effects[name] = WeakEffect(effect: effect)
      return true
    }
  }

  /// Begins the work of an earlier process, as far as its effects are registered.
  func resume(_ dispatcher: Dispatcher) {
    let names = Set(state.withLock { $0.effects.keys })
    let (known, unknown) = found.withLock { found in
      let known = found.filter { names.contains($0.effect) }
      found.removeAll { names.contains($0.effect) }
      return (known, found)
    }
    // Work of this process whose effect was unregistered meanwhile goes on, too.
    let idle = state.withLock { state in
      for entry in known { state.entries[entry.key] = entry }
      return state.entries.values.filter { $0.isIdle && names.contains($0.effect) }
    }
    for entry in idle.sorted(by: { $0.number < $1.number }) { begin(entry, by: dispatcher) }
    for name in Set(unknown.map(\.effect)).sorted() {
      dispatcher.report(
        DispatchWarning(
          kind: .workNotResumed, storeIdentifier: nil,
          message: """
            Work of the durable effect "\(name)" was left by an earlier process, and dispatcher \
            "\(dispatcher.name)" has no such effect. It stays saved. Register the effect before resumeWork().
            """))
    }
  }

  /// Begins a run of work that no dispatch causes now.
  func begin(_ entry: OutboxEntry, by dispatcher: Dispatcher) {
    guard case .action(let action) = entry.work else { return }
    let effect = state.withLock { $0.effects[entry.effect]?.effect }
    effect?.begin(action, by: dispatcher) { run in
      self.state.withLock { state in
        state.committed[Cause(dispatch: run.dispatchID, effect: entry.effect)] = entry
      }
    }
  }

  /// Begins another run of work whose run was cancelled, unless it is done or left to the next process.
  func beginAgain(_ entry: OutboxEntry, by dispatcher: Dispatcher) {
    let isPending = state.withLock { state in
      !state.isClosed && state.entries[entry.key] === entry
        && state.effects[entry.effect]?.effect?.isRegistered == true
    }
    if isPending, entry.progress.failed == nil { begin(entry, by: dispatcher) }
  }

  // MARK: The life of work

  /// Enters the work of a dispatch that commits.
  func commit(_ id: DispatchID, _ effect: String, _ action: any ActionType) -> OutboxEntry {
    state.withLock { $0.enter(action, of: Cause(dispatch: id, effect: effect)) }
  }

  /// Enters the work of a dispatch that has ended, if its commit has not; returns false if there is none.
  func enter(_ ended: EndedDispatch, _ effect: String) -> Bool {
    let cause = Cause(dispatch: ended.dispatchID, effect: effect)
    let (isCommitted, entry) = state.withLock { state in
      let isCommitted = state.committed[cause] != nil
      let isMissing = !isCommitted && ended.result.isSuccess
      return (isCommitted, isMissing ? state.enter(ended.action, of: cause) : nil)
    }
    guard let entry else { return isCommitted }
    // The dispatch has changed no persistent store, so the row is a commit of its own.
    keeper?.save([entry.row])
    return true
  }

  /// Takes the work that a run is to do.
  func take(_ run: EffectRun, _ effect: String) -> OutboxEntry? {
    state.withLock {
      $0.committed.removeValue(forKey: Cause(dispatch: run.dispatchID, effect: effect))
    }
  }

  /// Notes that work is done, and removes its row unless that was part of a commit.
  func done(_ entry: OutboxEntry, isRemoved: Bool) {
    entry.noteDone()
    _ = state.withLock { $0.entries.removeValue(forKey: entry.key) }
    if !isRemoved { keeper?.save([entry.removal]) }
  }

  /// Notes a failed attempt; returns whether another one follows.
  func failed(_ entry: OutboxEntry, _ error: any Error, of limit: Int) -> Bool {
    let now = clock.unixMilliseconds
    let isRetried = entry.withProgress { $0.fail("\(error)", of: limit, at: now) }
    if let keeper {
      let rows = [entry.row]
      if isRetried { keeper.saveWithNext(rows) } else { keeper.save(rows) }
    }
    return isRetried
  }

  /// Begins a pause of a run; returns false if the dispatcher is closed.
  func beginPause(_ run: EffectRun, _ entry: OutboxEntry) -> Bool {
    state.withLock { state in
      if !state.isClosed { state.pausing[entry.key] = run }
      return !state.isClosed
    }
  }

  func endPause(_ entry: OutboxEntry) {
    let run = state.withLock { $0.pausing.removeValue(forKey: entry.key) }
    withExtendedLifetime(run) {}
  }

  var isClosed: Bool { state.withLock(\.isClosed) }

  /// Ends all pauses: their work is left to the next process.
  func close() {
    let runs = state.withLock { state in
      state.isClosed = true
      return state.pausing.sorted { $0.key < $1.key }.map(\.value)
    }
    for run in runs { run.cancel() }
  }

  // MARK: Facts

  /// All work that is not done, in the order in which it came.
  var all: [OutboxEntry] {
    (found.withLock { $0 } + state.withLock { Array($0.entries.values) })
      .sorted { $0.number < $1.number }
  }

  // MARK: Dead letters

  func runAgain(_ key: String, by dispatcher: Dispatcher) -> Bool {
    guard let entry = takeLetter(key, keeping: true) else { return false }
    keeper?.save([entry.row])
    begin(entry, by: dispatcher)
    return true
  }

  func removeLetter(_ key: String) -> Bool {
    guard let entry = takeLetter(key, keeping: false) else { return false }
    keeper?.save([entry.removal])
    return true
  }

  /// Revives or removes a dead letter.
  private func takeLetter(_ key: String, keeping: Bool) -> OutboxEntry? {
    state.withLock { state in
      guard let entry = state.entries[key],
        entry.withProgress({ progress in
          guard progress.failed != nil, !keeping || entry.action != nil else { return false }
          if keeping { progress = OutboxEntry.Progress() }
          return true
        })
      else { return nil }
      if !keeping { state.entries[key] = nil }
      return entry
    }
  }
}

extension Outbox.State {
  /// Enters work of this process.
  fileprivate mutating func enter(
    _ action: any ActionType, of cause: Outbox.Cause
  ) -> OutboxEntry {
    lastNumber += 1
    let entry = OutboxEntry(
      "\(prefix)-\(lastNumber)", of: cause.effect, lastNumber, .action(action),
      OutboxEntry.Progress())
    entries[entry.key] = entry
    committed[cause] = entry
    return entry
  }
}

extension Dispatcher {
  var outbox: Outbox { attachment(orAdd: Outbox(clock)) }
}
