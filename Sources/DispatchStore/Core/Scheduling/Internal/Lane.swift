import Synchronization

/// The identity of a lane, which may have been removed and made again.
///
/// Lanes whose keys have equal hashes share it, so that comparing it calls no user code.
struct LaneIdentity: Hashable {
  let pool: ObjectIdentifier
  let number: Int
}

/// A first-in, first-out lane: strictly one dispatch at a time, from its start to its completion.
///
/// Dispatching threads push to one word, without a lock. One job at a time drains the lane; the thread that runs it
/// is the lane's drainer. A dispatch that waits for something elsewhere holds the lane without a thread.
final class Lane: Scheduler, @unchecked Sendable {
  // because `retainedDispatcher` changes under the lock of `state`, except in the push that finds the lane idle. No
  // other thread has a reason to look at it then. `name` changes only while there is one reference.
  /// The key and shard of a named lane; nil for the default and main lanes, which stay.
  @exclusivity(unchecked) private var name: (key: TypedKey, shard: LaneShard)?
  let isMain: Bool
  let pool: ConcurrentPool
  let word = AtomicLaneWord()
  /// State that the drainer changes; other threads read it, or add steps.
  let state = Locked(LaneState())
  /// The dispatcher, kept alive until the lane is idle.
  private var retainedDispatcher: Dispatcher?

  init(isMain: Bool = false, pool: ConcurrentPool) {
    self.isMain = isMain
    self.pool = pool
  }

  // MARK: Name

  /// Names the lane, before another thread knows it.
  func begin(_ key: TypedKey, in shard: LaneShard) {
    name = (key, shard)
  }

  /// Whether dispatches to a lane of this name may be pushed here.
  func hasKey(_ key: TypedKey) -> Bool {
    guard let name, !isRetired else { return false }
    return isPlanted(.equalHashes) ? name.key.hash == key.hash : name.key == key
  }

  /// The lane, for the order of what follows after dispatches have left it: it may be another object by then.
  var identity: LaneIdentity {
    LaneIdentity(pool: ObjectIdentifier(pool), number: name?.key.hash ?? (isMain ? 1 : 0))
  }

  /// The lane's activity once it is empty.
  private var ending: LaneWord.Activity { name == nil ? .idle : .retired }

  override var isRetired: Bool { word.now.activity == .retired }

  private func retire() {
    if let name { name.shard.remove(self, at: name.key.hash) }
  }

  /// Keeps a lane for another name, if it has retired and nothing else refers to it.
  static func recycle(_ lane: inout Lane) {
    guard lane.isRetired, isUniquelyReferencedForReuse(&lane) || isPlanted(.reusedLane) else {
      return
    }
    let former = lane.name
    lane.name = nil
    lane.state.withLock { $0 = LaneState() }
    lane.word.reset()
    former?.shard.keep(lane)
  }

  /// Whether a dispatch was pushed that the drainer has not taken in.
  var hasPush: Bool { word.now.top != nil }

  // MARK: Scheduler

  override var dispatcher: Dispatcher? { state.withLock { _ in retainedDispatcher } }
  override var workers: ConcurrentPool? { pool }
  override var needsMainQueue: Bool { isMain }
  override var isSuspended: Bool {
    !isMain && pool.isSuspended && !isPlanted(.ignoredSuspension)
  }

  override var description: String {
    isMain
      ? "the main lane" : name.map { "lane \"\($0.key.description)\"" } ?? "the default lane"
  }

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    let pushed = Unmanaged.passRetained(dispatch)
    var needsDrainer = false
    yieldPoint(.push, description)
    let before = changeOpen { word in
      guard let push = word.pushing(pushed) else { return nil }
      dispatch.next = word.top
      needsDrainer = push.needsDrainer
      return push.word
    }
    guard before != nil else {
      pushed.release()
      return false
    }
    if needsDrainer {
      yieldPoint(.schedule, description)
      retainedDispatcher = dispatcher
      submit(isStart: true, for: dispatcher)
    }
    return true
  }

  /// Changes the word outside of the lock, once no dispatch is just entering several lanes.
  @inline(__always)
  private func changeOpen(_ next: (LaneWord) -> LaneWord?) -> LaneWord? {
    while true {
      var isClosed = false
      let former = word.change { word in
        if let next = next(word) { return next }
        isClosed = word.activity == .closed
        return nil
      }
      if !isClosed { return former }
      // The lane is locked as long as it is closed.
      state.withLock { _ in }
    }
  }

  // MARK: Several lanes at once

  /// Queues a place of a dispatch here, if `others` queues its other places.
  ///
  /// In the meantime the lane is closed: no dispatch is pushed after the first lane is locked and before the last one
  /// is. So the dispatch has entered all lanes in one step.
  ///
  /// - Parameter needsDrainer: Set if the caller must call `startDrainer(for:)`, outside of the lock.
  /// - Returns: False if a lane has retired; then nothing has changed.
  func enter(
    _ place: Dispatch, of dispatch: Dispatch, for dispatcher: Dispatcher,
    needsDrainer: inout Bool, with others: () -> Bool
  ) -> Bool {
    state.withLock { state in
      guard let former = word.change(\.closed) else { return false }
      guard others() else {
        word.open(former)
        return false
      }
      if place.details?.priority != nil { state.expectPriority() }
      state.noteHeldBack(place)
      if place !== dispatch { state.add(place, of: dispatch) }
      let push = former.pushing(.passRetained(place)).unsafelyUnwrapped
      place.next = former.top
      needsDrainer = push.needsDrainer
      if needsDrainer { retainedDispatcher = dispatcher }
      word.open(push.word)
      return true
    }
  }

  /// Starts the drainer that `enter` has asked for.
  func startDrainer(for dispatcher: Dispatcher) {
    yieldPoint(.schedule, description)
    submit(isStart: true, for: dispatcher)
  }

  /// Lets a place hold the lane, which the task of its dispatch has acquired.
  func hold(_ place: Dispatch, of dispatch: Dispatch) {
    state.withLock { $0.add(place, of: dispatch) }
    hold(place)
  }

  /// Releases the lane from a place that has ended.
  ///
  /// Starts no action: the thread may be that of another lane.
  func release(place: Dispatch, of dispatcher: Dispatcher) {
    let (dispatch, isHolder) = state.withLock { ($0.remove(place), $0.isHolder(place)) }
    withExtendedLifetime(dispatch) {}
    if isHolder { release(place, ofTaskOf: dispatcher) } else { noteSkipped() }
  }

  /// Called before the push, so that the drainer that takes the dispatch in finds its priority.
  override func expectPriority() {
    state.withLock { $0.expectPriority() }
  }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    yieldPoint(.resume, description)
    if isPlanted(.lostStep) { return resumeAfterRequest(step) }
    state.withLock { $0.resume(step) }
    requestDrainer()
  }

  override func unpark(_ dispatch: Dispatch, for dispatcher: Dispatcher?) {
    yieldPoint(.unpark, description)
    let (isRequested, retained) = state.withLock { state in
      guard state.unpark(dispatch) else { return (false, nil as Dispatcher?) }
      let isRequested = becomesDrained(for: isPlanted(.releasedDispatcher) ? nil : dispatcher)
      return (isRequested, retainedDispatcher)
    }
    if isRequested { submit(isStart: true, for: retained) }
  }

  override func release(_ dispatch: Dispatch) {
    yieldPoint(.release, description)
    state.withLockReleasing { $0.release(dispatch) }
  }

  override func releaseParked(_ dispatch: Dispatch) {
    yieldPoint(.resume, description)
    // A drainer may have started the dispatch since, found that it has ended, and left the lane empty, under the
    // lock. A step that is added after that would keep the lane until the next dispatch comes, or for ever.
    let isInUse = state.withLock { state in
      let isInUse = word.now.isInUse
      if isInUse { state.resume { self.release(dispatch) } }
      return isInUse
    }
    if isInUse { requestDrainer() }
  }

  override func acquire() -> Bool {
    yieldPoint(.push, description)
    return !isSuspended && word.change(\.acquiredByTask) != nil
  }

  override func hold(_ dispatch: Dispatch) {
    state.withLock { $0.hold(dispatch) }
    _ = changeOpen(\.heldByTask)
  }

  override func release(_ dispatch: Dispatch?, ofTaskOf dispatcher: Dispatcher) {
    yieldPoint(.release, description)
    let end =
      if let dispatch {
        leave(dispatch, ofTaskOf: dispatcher)
      } else if word.change({ $0.releasedByTask(as: ending) }) != nil {
        TaskEnd.empty
      } else {
        state.withLock { _ in becomesDrained(for: dispatcher) ? TaskEnd.drain : .none }
      }
    switch end {
    case .empty where ending == .retired: retire()
    // A task that is elsewhere releases the lane of a dispatch that ended before its start. Conditions of the next ones
    // are checked on the main queue.
    case .drain where isMain && !MainQueue.isCurrent: submit(isStart: true, for: dispatcher)
    // The calling task drains the lane and resumes the next task; an action is left to a drainer of the queue.
    case .drain: drain(startsActions: isPlanted(.drainOnForeignStack))
    case .empty, .none: break
    }
  }

  /// The duty of a task that no longer has the lane.
  private enum TaskEnd {
    /// Nothing: the lane is empty.
    case empty
    /// The task must drain the lane.
    case drain
    /// Nothing: a drainer is there, or the task did not have the lane.
    case none
  }

  /// Whether the caller must submit the drainer of a lane that was held; called under the lock.
  ///
  /// From now on the lane retains its dispatcher, whoever requests the drainer. Dispatches queued in the lane may be
  /// all that keeps the dispatcher alive.
  private func becomesDrained(for dispatcher: Dispatcher?) -> Bool {
    let isRequested = word.change(\.requestingDrainer) != nil
    let isDrained = isRequested || word.now.activity == .drained && !isPlanted(.releasedDispatcher)
    if isDrained, retainedDispatcher == nil { retainedDispatcher = dispatcher }
    return isRequested
  }

  /// Releases the lane after the record of a task's dispatch, which may be the last dispatch in the lane.
  private func leave(_ dispatch: Dispatch, ofTaskOf dispatcher: Dispatcher) -> TaskEnd {
    var released: Dispatch?
    defer { withExtendedLifetime(released) {} }
    return state.withLock { state in
      guard state.isHolder(dispatch) else { return .none }
      released = state.release(dispatch)
      // A drainer releases the dispatcher that the lane retains.
      if state.rest == .empty, word.now.activity == .held, retainedDispatcher == nil,
        word.change({ $0.releasedByTask(as: ending) }) != nil
      {
        return .empty
      }
      // The drainer that has started the task may still be there, and goes on.
      return becomesDrained(for: dispatcher) ? .drain : .none
    }
  }

  override func endCancelled(_ step: @escaping @Sendable () -> Void) { pool.resumeEnd(step) }

  override func noteSkipped() {
    yieldPoint(.removeEnded, description)
    state.withLockReleasing { state -> [Dispatch] in
      guard state.noteSkipped() else { return [] }
      state.takeIn(word.change(\.takenInByOther)?.top)
      return state.removeEnded()
    }
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    guard isMain else { return executor.runAnywhere(job) }
    MainQueue.run(in: pool.world) { executor.run(job) }
  }

  override func noteHeldBack(_ dispatch: Dispatch) {
    state.withLock { $0.noteHeldBack(dispatch) }
  }

  override func turns(of dispatch: Dispatch) -> [(lane: Lane, entry: Dispatch)] {
    [(self, dispatch)]
  }

  /// Returns the dispatches that may have to end before a dispatch that waits here can start.
  func precedence(of dispatch: Dispatch) -> LanePrecedence {
    state.withLock { $0.precedence(of: dispatch) }
  }

  /// Returns the dispatches that do have to end before it; linear, if some are held back.
  func exactPrecedence(of dispatch: Dispatch) -> LanePrecedence {
    state.withLock { $0.exactPrecedence(of: dispatch, top: word.now.top) }
  }

  /// Whether tasks have their turn before a dispatch; linear.
  func hasTask(before dispatch: Dispatch) -> Bool {
    state.withLock { $0.hasTask(before: dispatch, top: word.now.top) }
  }

  /// The dispatch that has started here, and the dispatches that wait for their turn; linear.
  var order: LaneOrder { state.withLock { $0.order(top: word.now.top) } }

  override var hasWaitingDispatches: Bool { hasPush || state.withLock(\.hasInbox) }

  // MARK: Requesting a drainer

  /// Requests a drainer for a held lane, after a step was added to its state.
  func requestDrainer() {
    yieldPoint(.schedule, description)
    if changeOpen(\.requestingDrainer) != nil { submit(isStart: false, for: nil) }
  }

  /// Submits the job that drains the lane.
  ///
  /// - Parameters:
  ///   - isStart: Whether the job starts a dispatch, so that suspension holds it back.
  ///   - dispatcher: The dispatcher that the lane retains.
  private func submit(isStart: Bool, for dispatcher: Dispatcher?) {
    if isMain {
      MainQueue.run(in: pool.world) { self.drain() }
    } else if isStart {
      pool.submit(start: .lane(self), for: dispatcher)
    } else {
      pool.submit(step: .lane(self))
    }
  }

  // MARK: Draining

  /// The number of steps after which the drainer leaves its thread to other jobs.
  private static let batch = 64
  /// The batch in a simulation, which has to reach the end of one.
  private static let simulatedBatch = 4
  /// The number of steps after which a drainer that finds the lane empty spins for the next push.
  private static let flow = 4

  /// Runs the lane's steps for a while, and returns how many they were.
  ///
  /// - Parameter startsActions: Whether this is a thread of the queue, which may start actions; a task never does.
  @discardableResult
  func drain(startsActions: Bool = true) -> Int {
    let thread = ThreadState.current
    // Kept until the lane no longer refers to the dispatch as its holder.
    var ended: Dispatch?
    var mayLeave = false
    // A caller that awaits each action before the next one soon pushes that, too.
    let flow = thread.fields.pointee.foundWorkBySpinning ? 0 : Self.flow
    thread.fields.pointee.foundWorkBySpinning = false
    let batch = pool.world == nil ? Self.batch : Self.simulatedBatch
    for count in 0..<batch {
      // A thread that waited in the last step runs beside the queue now: it would exceed the queue's width.
      let mayStart = startsActions && (count == 0 || thread.worker?.isSubstitute != true)
      switch next(after: &ended, mayLeave: mayLeave, mayStart: mayStart, on: thread) {
      case .empty:
        mayLeave = count < flow || !pool.spin(on: thread, until: { self.hasPush })
      case .step(let step):
        step()
      case .start(var dispatch):
        if case .continues = Dispatch.start(&dispatch, on: thread) {
          yieldPoint(.park, on: thread, description)
          state.withLock { $0.park(dispatch) }
          if isPlanted(.earlyRelease) { release(dispatch) }
        } else {
          ended = dispatch
        }
      case .heldBack:
        submit(isStart: true, for: dispatcher)
        return count + 1
      case .left(let isEmpty):
        if isEmpty { retire() }
        return count + 1
      }
    }
    pause(after: &ended, isOnQueue: startsActions, on: thread)
    return batch
  }

  private enum Next {
    /// The lane is empty, and the drainer has not left.
    case empty
    case step(@Sendable () -> Void)
    case start(Dispatch)
    /// A dispatch could start, but the queue is suspended, or this thread may not start it.
    case heldBack
    /// The drainer has left the lane, which is empty or held.
    case left(isEmpty: Bool)
  }

  private func next(
    after ended: inout Dispatch?, mayLeave: Bool, mayStart: Bool, on thread: ThreadState
  ) -> Next {
    let hasEnded = ended != nil
    defer { recycle(&ended, on: thread) }
    yieldPoint(.takeNext, on: thread, description)
    var released: Dispatcher?
    return state.withLock { state in
      if hasEnded { state.holderEnded() }
      if !mayLeave, state.rest == .empty {
        state.takeIn(word.change(\.takenIn)?.top)
        if state.rest == .empty { return .empty }
      }
      switch rest(of: &state, &released) {
      case .step: return .step(state.takeStep())
      // Read after the pushes were taken in, so that a suspension before a push is seen here.
      case .start:
        if state.hasPriorities, hasPush, !isPlanted(.latePriorities) {
          state.takeIn(word.change(\.takenIn)?.top)
        }
        let mayNow = mayStart || state.startsTask
        return mayNow && !isSuspended ? .start(state.takeStart()) : .heldBack
      case .held: return .left(isEmpty: false)
      case .empty: return .left(isEmpty: true)
      }
    }
  }

  /// Leaves the thread to other jobs, and queues the rest of the lane behind them.
  ///
  /// - Parameter isOnQueue: Whether this is a thread of the queue, which looks for starts before it leaves.
  private func pause(after ended: inout Dispatch?, isOnQueue: Bool, on thread: ThreadState) {
    let hasEnded = ended != nil
    defer { recycle(&ended, on: thread) }
    yieldPoint(.pause, on: thread, description)
    var released: Dispatcher?
    let rest = state.withLock { state in
      if hasEnded { state.holderEnded() }
      return self.rest(of: &state, &released)
    }
    switch rest {
    case .held: break
    case .empty: retire()
    case .start where !isMain && (isOnQueue || isPlanted(.lostBatch)): pool.putBack(self)
    case .start, .step: submit(isStart: rest == .start, for: dispatcher)
    }
  }

  private func recycle(_ ended: inout Dispatch?, on thread: ThreadState) {
    guard ended != nil else { return }
    if isUniquelyReferencedForReuse(&ended), let dispatch = ended.take(), dispatch.details == nil {
      pool.recycle(dispatch, on: thread)
    }
    ended = nil
  }

  /// Returns what is left to do; if that is nothing, the drainer has left.
  ///
  /// - Parameter released: Receives the dispatcher of an empty lane, to be released outside the lock.
  private func rest(of state: inout LaneState, _ released: inout Dispatcher?) -> LaneState.Rest {
    while true {
      let rest = state.rest
      if rest == .step || rest == .start || leave(rest, &released) { return rest }
      state.takeIn(word.change(\.takenIn)?.top)
    }
  }

  /// Leaves the lane; returns false if a dispatch was pushed that can start.
  private func leave(_ rest: LaneState.Rest, _ released: inout Dispatcher?) -> Bool {
    yieldPoint(.leave, description)
    if rest == .held { return word.change { $0.leaving(as: .held) } != nil }
    // Cleared before the word changes: after that, the next thread that requests a drainer sets it.
    released = retainedDispatcher.take()
    let hasLeft =
      isPlanted(.lostWakeUp)
      ? leaveInTwoSteps(as: ending) : word.change { $0.leaving(as: ending) } != nil
    if !hasLeft { retainedDispatcher = released.take() }
    return hasLeft
  }
}
