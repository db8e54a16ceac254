import Synchronization

/// An effect that is registered with a dispatcher, with its runs.
final class RegisteredEffect: DispatchFollower {
  let effect: Effect
  let reference: DispatcherReference
  /// The lines of its runs by key; those of a long-lived effect have one line.
  let lines = KeyedTable<SharedEffectLine>()
  private let lastNumber = Atomic(0)
  /// Whether a run may begin: read under a line's lock, so that whoever ends that finds the run there.
  private let isOpen = Atomic(true)
  /// Whether a pause of the dispatcher has refused a run of a long-lived effect, which begins when that ends.
  private let awaitsEndOfPause = Atomic(false)

  init(_ effect: Effect, with dispatcher: Dispatcher) {
    self.effect = effect
    reference = DispatcherReference(dispatcher: dispatcher)
  }

  // MARK: Actions

  func responds(to type: any ActionType.Type) -> Bool {
    effect.following?.responds(type) == true
  }

  private var durable: (effect: DurableEffect, outbox: Outbox)? { effect.following?.durable }

  var isDurable: Bool { durable != nil }
  var outbox: Outbox? { durable?.outbox }

  func companion(of id: DispatchID, _ action: any ActionType) -> DispatchCompanion? {
    durable.map { OutboxBeginning($0.outbox, $0.effect.name, id, action) }
  }

  func dispatchEnded(_ ended: EndedDispatch) {
    let continuations = ended.dispatcher.continuations
    defer { continuations?.hasTold(of: ended.dispatchID) }
    guard let following = effect.following,
      following.runsRegardless || ended.result.isSuccess
    else { return }
    let work = durable.flatMap { $0.outbox.take(ended, $0.effect.name) }
    if isDurable, work == nil { return }
    ended.noteFollower()
    let key = following.key?(ended.action)
    guard
      let run = EffectRun(
        of: self, by: ended.dispatcher, following: ended, key: key, doing: work, on: .current)
    else {
      // Somebody has cancelled what follows the dispatch, and not the work.
      if let work {
        _ = work.endRun()
        outbox?.beginIfPending(work, by: ended.dispatcher)
      }
      return
    }
    begin(run, following)
  }

  /// Begins a run of work whose dispatch has ended before.
  func begin(_ work: OutboxEntry, by dispatcher: Dispatcher) {
    guard let following = effect.following,
      let run = EffectRun(of: self, by: dispatcher, doing: work, on: .current)
    else {
      _ = work.endRun()
      outbox?.giveUp(work, by: dispatcher)
      // A pause of the dispatcher may have ended before the work was idle again, and has not begun it.
      if dispatcher.registry.withLock(\.presentAcceptance) == .open {
        outbox?.begin(work, by: dispatcher)
      }
      return
    }
    begin(run, following)
  }

  private func begin(_ run: EffectRun, _ following: Effect.Following) {
    yieldPoint(.beginEffect)
    if let work = run.work, !work.keep(run) { return run.end() }
    guard let keeper = outbox?.keeper, !isPlanted(.effectBeforeSaved) else {
      return arrive(run, following) { $0.begin() }
    }
    // Work of an earlier process is durable, and would lose its order among calls that wait.
    if run.work?.progress.wasLeft == true { return arrive(run, following) { $0.beginElsewhere() } }
    // Not before the cause is durable: a crash could undo it. No turn is held meanwhile.
    run.continuations?.willBeSaved()
    keeper.whenSaved { isSaved in
      if isSaved { self.arrive(run, following) { $0.beginElsewhere() } } else { run.end() }
      run.continuations?.wasSaved()
    }
  }

  private func arrive(
    _ run: EffectRun, _ following: Effect.Following, _ begin: (EffectRun) -> Void
  ) {
    switch enterLine(run, following) {
    case .begin(let former):
      former?.cancel()
      begin(run)
    case .wait:
      break
    case .skip:
      // The line is closed. Another effect of the name may have been registered meanwhile, which does the work.
      if isDurable { run.cancel() } else { run.end() }
    }
  }

  private func enterLine(
    _ run: EffectRun, _ following: Effect.Following
  ) -> EffectLine<EffectRun>.Arrival {
    line(of: run, bound: following.bound).runs.withLock { line in
      isRegistered ? line.arrive(run, following.policy) : .skip
    }
  }

  /// The line that a run is about to enter.
  private func line(of run: EffectRun, bound: Int) -> SharedEffectLine {
    let line = lines.member(of: run.key ?? .unnamed) { place in
      yieldPoint(.beginEffect)
      let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
      return SharedEffectLine(number, bound: bound, at: place)
    }
    run.willEnter(line)
    yieldPoint(.beginEffect)
    return line
  }

  // MARK: Long-lived effects

  var isLongLived: Bool { effect.following == nil }

  /// Starts a long-lived effect, once it is registered.
  func start() {
    if isLongLived { restart() }
  }

  func restart() {
    guard isLongLived, let dispatcher = reference.dispatcher else { return }
    guard let run = EffectRun(of: self, by: dispatcher, on: .current) else {
      awaitsEndOfPause.store(true, ordering: .sequentiallyConsistent)
      // The pause may have ended before that was noted.
      if dispatcher.registry.withLock(\.presentAcceptance) == .open { restartAfterPause() }
      return
    }
    awaitsEndOfPause.store(false, ordering: .sequentiallyConsistent)
    typealias Restart = (EffectLine<EffectRun>.Arrival, former: [EffectRun])
    let (arrival, former) = line(of: run, bound: 1).runs.withLock { line -> Restart in
      isRegistered ? line.restart(run) : (.skip, former: line.takeAll())
    }
    for run in former { run.cancel() }
    switch arrival {
    case .begin: run.begin()
    case .wait: break
    case .skip: run.end()
    }
  }

  /// Begins the run that a pause of the dispatcher has refused, if it has.
  private func restartAfterPause() {
    let isAwaited = awaitsEndOfPause.exchange(false, ordering: .sequentiallyConsistent)
    if isAwaited, isRegistered { restart() }
  }

  func dispatcherClosed() {
    if isLongLived { _ = closeLines() }
    guard let outbox else { return }
    // Before the pauses are taken: a run that comes to its pause from now on ends.
    outbox.close()
    if outbox.keeper != nil { isOpen.store(false, ordering: .sequentiallyConsistent) }
    let beginsNone = beginsNone
    cancelRuns { $0.takePausing() + (beginsNone ? $0.takeWaiting() : []) }
  }

  /// Begins the work that should have begun during the pause.
  func pauseEnded(of dispatcher: Dispatcher) {
    guard let (effect, outbox) = durable else { return restartAfterPause() }
    outbox.beginLeft(of: [effect.name], by: dispatcher)
  }

  // MARK: All effects

  /// Whether no attempt begins any more: after a shut-down, and after the close of a dispatcher that leaves saved work to
  /// the next process.
  var beginsNone: Bool {
    if let outbox, outbox.keeper != nil, outbox.isClosed { return true }
    return reference.dispatcher?.isShutDown != false
  }

  var runCount: Int { count(\.runCount) }

  private func count(_ part: (EffectLine<EffectRun>) -> Int) -> Int {
    lines.all.reduce(0) { sum, line in sum + line.runs.withLock { part($0) } }
  }

  private var begunRuns: [EffectRun] { lines.all.flatMap { $0.runs.withLock(\.begunRuns) } }

  /// Whether a test waits for a run that goes on: it does not wait for its turn, and is awake.
  var isBusy: Bool { !isLongLived && begunRuns.contains(where: \.isAwake) }

  var progress: String? {
    guard let runs = inWords(runCount) else { return nil }
    let waiting = count(\.waitingCount)
    return waiting == 0 ? runs : "\(runs), \(waiting) waiting"
  }

  var sleep: String? {
    isLongLived
      ? nil : inWords(begunRuns.count(where: \.isAsleep)).map { "\($0), on the virtual clock" }
  }

  private func inWords(_ count: Int) -> String? {
    count == 0 ? nil : "\(effect.name): \(count) \(count == 1 ? "run" : "runs")"
  }

  /// Removes a run that has ended, and begins the next one.
  func ended(_ run: EffectRun) {
    run.line?.runs.withLock { $0.ended(run) }?.beginElsewhere()
    run.continuations?.changed()
  }

  /// Gives the turn of a run that pauses to the next one.
  func paused(_ run: EffectRun) {
    run.line?.runs.withLock { $0.pause(run) }?.beginElsewhere()
  }

  /// Lets a run attempt again after its pause, once it has a turn.
  func pauseEnded(_ run: EffectRun) {
    if run.line?.runs.withLock({ $0.endPause(run) }) == true { return run.beginElsewhere() }
    run.continuations?.changed()
  }

  func cancel() {
    awaitsEndOfPause.store(false, ordering: .sequentiallyConsistent)
    cancelRuns { $0.takeAll() }
  }

  /// Cancels runs that a closure takes from each line.
  private func cancelRuns(_ take: (inout EffectLine<EffectRun>) -> [EffectRun]) {
    // In order, since a table's order differs in each process.
    let runs = lines.all.sorted { $0.number < $1.number }.flatMap { $0.runs.withLock(take) }
    for run in runs { run.cancel() }
  }

  /// Whether it has not been unregistered.
  var isRegistered: Bool { isOpen.load(ordering: .sequentiallyConsistent) }

  /// Lets no further run begin.
  ///
  /// Returns whether the effect was registered.
  func unregister() -> Bool {
    let wasOpen = closeLines()
    return reference.dispatcher?.unregister(self) ?? wasOpen
  }

  /// Lets no further run begin, and cancels all; returns whether one could have begun.
  private func closeLines() -> Bool {
    let wasOpen = isOpen.exchange(false, ordering: .sequentiallyConsistent)
    cancel()
    return wasOpen
  }
}
