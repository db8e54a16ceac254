import Foundation

/// The work of a dispatcher's durable effects that is not done.
final class Outbox: DispatcherAttachment {
  let keeper: CompanionKeeper?
  /// The name of the dispatcher, to which its saved work belongs.
  private let dispatcher: String
  private let clock: DispatcherClock
  /// Distinguishes the keys of this process from all others.
  private let prefix: String
  private let state = Locked(State())
  /// The work of an earlier process, of all dispatchers that share the persistence, until they resume it.
  private let found: Locked<FoundWork>

  fileprivate struct State {
    /// All work, by key.
    var entries: [String: OutboxEntry] = [:]
    /// The work of dispatches that have committed, and not ended.
    var committed: [Cause: OutboxEntry] = [:]
    var effects: [String: WeakEffect] = [:]
    var isClosed = false
  }

  fileprivate struct Cause: Hashable {
    let dispatch: DispatchID
    let effect: String
  }

  fileprivate struct WeakEffect { weak let effect: RegisteredEffect? }

  init(
    of dispatcher: String, _ clock: DispatcherClock, in world: (any SimulatedWorld)?,
    savedBy keeper: CompanionKeeper? = nil, found: Locked<FoundWork> = Locked(FoundWork())
  ) {
    _ = found.withLock { $0.dispatchers.insert(dispatcher) }
    // In a simulation, a seed repeats the keys, too.
    prefix = world.map { "simulated-\($0.makeNumber())" } ?? UUID().uuidString
    (self.dispatcher, self.clock) = (dispatcher, clock)
    (self.keeper, self.found) = (keeper, found)
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
      let own = found.entries.filter { $0.value.dispatcher == self.dispatcher }
      let known = own.filter { names.contains($0.value.effect) }
      takeOver(known.values, from: &found)
      return (known, own.values.filter { !names.contains($0.effect) })
    }
    beginLeft(of: names, by: dispatcher)
    let undecoded = Dictionary(grouping: known.values.filter { $0.action == nil }, by: \.effect)
    for (name, entries) in undecoded.sorted(by: { $0.key < $1.key }) {
      dispatcher.report(
        .workNotResumed,
        """
        \(entries.count) dead letters of the durable effect "\(name)" stay saved, and can't go on in dispatcher \
        "\(dispatcher.name)". \(entries[0].progress.error ?? "")
        """)
    }
    for name in Set(unknown.map(\.effect)).sorted() {
      dispatcher.report(
        .workNotResumed,
        """
        Work of the durable effect "\(name)" was left by an earlier process, and dispatcher \
        "\(dispatcher.name)" has no such effect. It stays saved. Register the effect before resumeWork().
        """)
    }
    reportForeign(by: dispatcher)
  }

  /// Moves work that an earlier process may have left to the work of this one.
  ///
  /// Under both locks, so that lists have it at any time, and once.
  private func takeOver(_ entries: some Sequence<OutboxEntry>, from found: inout FoundWork) {
    state.withLock { state in
      for entry in entries {
        found.entries[entry.key] = nil
        // Work that was removed meanwhile stays removed.
        if entry.progress.phase != .done { state.entries[entry.key] = entry }
      }
    }
  }

  /// Reports the work of dispatchers that this process has not made, which no other dispatcher can list or go on with.
  private func reportForeign(by dispatcher: Dispatcher) {
    let foreign = found.withLock { found in
      Set(found.entries.values.map(\.dispatcher)).subtracting(found.dispatchers)
    }
    for name in foreign.sorted() {
      dispatcher.report(
        .workNotResumed,
        """
        Work of durable effects was left by an earlier process, and no dispatcher is named "\(name)". It stays saved. \
        Make that dispatcher before resumeWork().
        """)
    }
  }

  /// Begins the work of effects that no run does: that of an earlier process, or of an effect that was unregistered.
  func beginLeft(of effects: Set<String>, by dispatcher: Dispatcher) {
    let left = state.withLock { state in
      state.isClosed
        ? [] : state.entries.values.filter { $0.progress.isIdle && effects.contains($0.effect) }
    }
    for entry in left.sorted(by: { $0.number < $1.number }) { begin(entry, by: dispatcher) }
  }

  /// Begins a run of work that no dispatch causes now.
  func begin(_ entry: OutboxEntry, by dispatcher: Dispatcher) {
    let effect = state.withLock { $0.effects[entry.effect]?.effect }
    if let effect, entry.action != nil, entry.beginRun() { effect.begin(entry, by: dispatcher) }
  }

  /// Begins another run of work whose run was cancelled, unless it is done, given up or left to the next process.
  func beginIfPending(_ entry: OutboxEntry, by dispatcher: Dispatcher) {
    let isPending = state.withLock { state in
      !state.isClosed && state.entries[entry.key] === entry
        && state.effects[entry.effect]?.effect?.isRegistered == true
    }
    guard isPending else { return giveUp(entry, by: dispatcher) }
    begin(entry, by: dispatcher)
  }

  /// Whether no later process does the work that this one leaves.
  private var isLast: Bool { keeper == nil && isClosed }

  /// Makes work a dead letter, if no process attempts it again.
  func giveUp(_ entry: OutboxEntry, by dispatcher: Dispatcher) {
    let now = clock.unixMilliseconds
    guard isLast, !isPlanted(.leftUnseen), entry.withProgress({ $0.giveUp(at: now) }) else {
      return
    }
    dispatcher.report(
      .deadLetter,
      """
      Work of the durable effect "\(entry.effect)" is not done in dispatcher "\(dispatcher.name)", which was closed: \
      \(entry.progress.error ?? "") It is kept as a dead letter.
      """)
  }

  // MARK: The life of work

  /// Enters the work of a dispatch that commits.
  func commit(_ id: DispatchID, _ effect: String, _ action: any ActionType) -> OutboxEntry {
    enter(action, of: effect, causedBy: Cause(dispatch: id, effect: effect))
  }

  /// Takes the work of a dispatch that has ended, which a run is to do; nil if there is none, or it was removed.
  func take(_ ended: EndedDispatch, _ effect: String) -> OutboxEntry? {
    let cause = Cause(dispatch: ended.dispatchID, effect: effect)
    if let entry = state.withLock({ $0.committed.removeValue(forKey: cause) }) {
      return entry.progress.phase == .running ? entry : nil
    }
    // If a deadline has passed while the stores were finishing, they have changed all the same.
    guard ended.result.isSuccess || ended.resultOfStores.haveStoresFinished else { return nil }
    let entry = enter(ended.action, of: effect)
    // The dispatch has changed no persistent store, so the row is a commit of its own.
    save(entry.row)
    return entry
  }

  /// Enters work of this process, which a run is to do.
  private func enter(
    _ action: any ActionType, of effect: String, causedBy cause: Cause? = nil
  ) -> OutboxEntry {
    let number = found.withLock { found in
      found.lastNumber += 1
      return found.lastNumber
    }
    let entry = OutboxEntry(
      "\(prefix)-\(number)", of: effect, dispatcher, number, action,
      // Running, so that nobody else begins it before its row is on its way to the database: `resumeWork()`, say.
      OutboxEntry.Progress(phase: .running))
    state.withLock { state in
      state.entries[entry.key] = entry
      if let cause { state.committed[cause] = entry }
    }
    return entry
  }

  /// Notes that work is done, and removes its row unless that was part of a commit.
  func done(_ entry: OutboxEntry, isRemoved: Bool) {
    entry.withProgress { $0.end() }
    _ = state.withLock { $0.entries.removeValue(forKey: entry.key) }
    if !isRemoved { save(entry.removal) }
  }

  /// Counts an attempt of work that an earlier process has left before it is made, since it may end the process.
  ///
  /// Returns once that is saved. False if all attempts are used up, or if nothing is saved any longer.
  func countAhead(_ entry: OutboxEntry, of limit: Int) async -> Bool {
    let now = clock.unixMilliseconds
    let isMade = entry.withProgress { $0.countAhead(of: limit, at: now) }
    save(entry.row)
    guard let keeper, isMade, !isPlanted(.countedLate) else { return isMade }
    return await keeper.saved()
  }

  /// Takes back the count of an attempt that was interrupted in order, and is left to another run.
  func uncount(_ entry: OutboxEntry) {
    if entry.withProgress({ $0.uncount() }) { save(entry.row) }
  }

  /// Notes a failed attempt.
  func failed(
    _ entry: OutboxEntry, _ error: any Error, of limit: Int
  ) -> OutboxEntry.Progress.Failure {
    let (now, limit) = (clock.unixMilliseconds, isLast ? 0 : limit)
    let failure = entry.withProgress { $0.fail("\(error)", of: limit, at: now) }
    if failure != .isRemoved { save(entry.row) }
    return failure
  }

  /// Saves a row as a commit of its own.
  private func save(_ row: CompanionRow) {
    yieldPoint(.saveEffect)
    keeper?.save([row])
  }

  var isClosed: Bool { state.withLock(\.isClosed) }

  /// Begins no work again from now on.
  func close() { state.withLock { $0.isClosed = true } }

  /// Gives up the work that no run does, such as that of an effect that was unregistered, if no later process does it.
  func closed(_ dispatcher: Dispatcher) {
    close()
    let idle = state.withLock { $0.entries.values.filter(\.progress.isIdle) }
    for entry in idle.sorted(by: { $0.number < $1.number }) { giveUp(entry, by: dispatcher) }
  }

  // MARK: Facts

  /// The number of pieces of saved work that are not done, and no dead letters.
  var leftCount: Int { keeper == nil ? 0 : all.count { $0.progress.failed == nil } }

  /// The work that is not done, and has failed for good or not, in the order in which it came.
  func entries(haveFailed: Bool) -> [OutboxEntry] {
    all.filter { ($0.progress.failed != nil) == haveFailed }.sorted { $0.number < $1.number }
  }

  /// All work that is not done, in any order.
  private var all: [OutboxEntry] {
    found.withLock { found in
      found.entries.values.filter { $0.dispatcher == dispatcher }
        + state.withLock { Array($0.entries.values) }
    }
  }

  // MARK: Decisions of the program

  /// Runs a dead letter again; returns false if it is none, or its action can't be decoded.
  func runAgain(_ key: String, by dispatcher: Dispatcher) -> Bool {
    guard !isClosed, let entry = find(key), entry.action != nil,
      entry.withProgress({ $0.revive() })
    else { return false }
    yieldPoint(.saveEffect)
    found.withLock { takeOver([entry], from: &$0) }
    save(entry.row)
    if entry.endRun() { begin(entry, by: dispatcher) }
    return true
  }

  /// Removes a dead letter, or other work that is not done, and cancels the run that does it.
  func remove(_ key: String, isLetter: Bool) -> Bool {
    guard let entry = find(key), entry.withProgress({ $0.remove(isLetter: isLetter) })
    else { return false }
    _ = state.withLock { $0.entries.removeValue(forKey: key) }
    _ = found.withLock { $0.entries.removeValue(forKey: key) }
    save(entry.removal)
    entry.cancelRun()
    return true
  }

  /// The work of a key that is not done; nil if there is none.
  private func find(_ key: String) -> OutboxEntry? {
    if let left = found.withLock({ $0.entries[key] }), left.dispatcher == dispatcher { return left }
    return state.withLock { $0.entries[key] }
  }
}

/// The work that an earlier process has left, of all dispatchers that share a persistence.
struct FoundWork {
  /// By key, until a dispatcher takes it over.
  var entries: [String: OutboxEntry] = [:]
  /// The names of the dispatchers that this process has made so far.
  var dispatchers: Set<String> = []
  /// The highest number of work, also of what dispatchers of this process have entered since: new work comes after all
  /// that is left.
  var lastNumber = 0
}

extension Dispatcher {
  var outbox: Outbox { attachment(orAdd: Outbox(of: name, clock, in: world)) }
}
