import Foundation
import Synchronization

/// The concurrent queue: operations on an `OperationQueue` that take jobs from one inbox.
///
/// The queue stays the executor: its width, quality of service and suspension are obeyed. A worker that waits inside
/// the library gives up its place, so that the awaited work can run.
final class ConcurrentPool: Scheduler, @unchecked Sendable {
  // because the lock of `shared` guards what changes
  let queue: OperationQueue
  /// The queue, if it is the library's own.
  private let poolQueue: PoolQueue?
  /// The simulated world; nil outside of simulations.
  let world: (any SimulatedWorld)?
  private let blockedThreads: BlockedThreads
  /// The queue with its other pools; set once, before the pool is used.
  private(set) var shared: SharedQueue!
  let starts: StartInbox
  /// Guarded by the lock of `shared`.
  @exclusivity(unchecked) private var state = PoolState()
  /// The dispatcher, kept alive while there are workers; guarded by the lock of `shared`.
  @exclusivity(unchecked) private var retainedDispatcher: Dispatcher?
  // Copies of parts of `state`, readable without its lock when threads push and take jobs.
  private let drainerCount = Atomic(0)
  private let begunCount = Atomic(0)
  private let runningCount = Atomic(0)
  private let pushNeedsState = Atomic(false)
  let hasWork = Atomic(false)
  private let isScarce = Atomic(false)
  /// The queue's width when the state was last changed.
  private let lastWidth = Atomic(1)
  /// The user's operations on the queue at the last check; counted only while the pool is scarce.
  private let otherOperations = Atomic(0)
  private let spinWait = SpinWait()
  private let returns = DispatchReturns()
  private let ends = PendingEnds()
  private let followed = AtomicLazyReference<Continuations>()

  init(queue: OperationQueue, in world: (any SimulatedWorld)? = nil) {
    self.queue = queue
    self.world = world
    blockedThreads = world?.blockedThreads ?? .ofProcess
    starts = StartInbox(for: world?.width ?? ProcessInfo.processInfo.activeProcessorCount)
    poolQueue = queue as? PoolQueue
    super.init()
    blockedThreads.attach(self, to: queue)
  }

  func join(_ shared: SharedQueue) {
    self.shared = shared
  }

  /// Detaches the pool, whose dispatcher has gone: no job is left, and none comes.
  func detach() {
    blockedThreads.detach(self, from: shared)
  }

  /// More threads than a system gives a queue.
  ///
  /// Bounds the numbers of workers that are calculated from the width of a queue, which may be `Int.max`.
  private static let greatestWidth = 4_096

  /// Read once, because the system reads files for each answer, which takes longer than a dispatch.
  private static let processorCount = ProcessInfo.processInfo.activeProcessorCount

  /// The number of threads that may run jobs at once.
  var width: Int {
    let width = poolQueue?.width ?? queue.maxConcurrentOperationCount
    if width > 0 { return min(width, Self.greatestWidth) }
    guard width < 0 else { return 1 }
    return world?.width ?? Self.processorCount
  }

  /// The width for a push.
  ///
  /// A user's queue takes a lock to give its width, so the last known width is used while there are drainers. If the
  /// queue was widened since, it begins one drainer more, which reads the width before it looks for starts.
  private var widthForPush: Int {
    poolQueue == nil && drainerCount.load(ordering: .relaxed) > 0
      ? lastWidth.load(ordering: .relaxed) : width
  }

  /// Returns the number of drainers that there may be.
  ///
  /// A user's queue doesn't notify the pool when it is widened, so one surplus drainer is queued, which runs then.
  /// The queue may have begun more drainers than the width known here: if it was narrowed, or widened since that was
  /// read.
  private func mostDrainers(_ width: Int, begun: Int) -> Int {
    guard poolQueue == nil else { return width }
    return max(width, isPlanted(.lostAfterNarrowing) ? 0 : begun) + 1
  }

  // MARK: Scheduler

  override var workers: ConcurrentPool? { self }
  override var runsStoresConcurrently: Bool { true }
  override var description: String { "the concurrent queue" }
  override var dispatcher: Dispatcher? { shared.state.withLock { _ in retainedDispatcher } }

  override var isSuspended: Bool { poolQueue?.isHeldBack ?? queue.isSuspended }

  /// Whether workers leave starts in the inbox.
  var holdsStartsBack: Bool { isSuspended && !isPlanted(.ignoredSuspension) }

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    // A dispatch that waits for others keeps no place here: it is parked, and submitted when it can run.
    if dispatch.isHeldBack {
      var dispatch = dispatch
      _ = Dispatch.start(&dispatch, on: .current)
    } else if dispatch.isEmpty {
      submit(end: .dispatch(dispatch))
    } else {
      submit(start: .dispatch(dispatch), for: dispatcher)
    }
    return true
  }

  override func unpark(_ dispatch: Dispatch, for dispatcher: Dispatcher?) {
    // The dispatch runs no action that suspension would hold back.
    if dispatch.details?.isJoining == true { return submit(end: .dispatch(dispatch)) }
    submit(start: .dispatch(dispatch), for: dispatcher)
  }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    submit(step: .step(step))
  }

  override func endCancelled(_ step: @escaping @Sendable () -> Void) { resumeEnd(step) }

  /// Runs the end of a dispatch of which no store begins.
  override func resumeEnd(_ end: @escaping @Sendable () -> Void) {
    // No hook tells a test of it, and its completion may dispatch.
    if ends.append(goingOn(end)) { submitEnd() }
  }

  private func submitEnd() {
    submit(
      end: .step {
        let (end, needsJob) = self.ends.take()
        if needsJob { self.submitEnd() }
        end?()
      })
  }

  /// Runs some ends above the bound, on a thread that is about to dispatch and holds nothing yet.
  ///
  /// Does nothing inside another end.
  func runSurplusEnds(on thread: ThreadState) {
    guard !thread.fields.pointee.runsSurplusEnds else { return }
    thread.fields.pointee.runsSurplusEnds = true
    defer { thread.fields.pointee.runsSurplusEnds = false }
    for _ in 0..<PendingEnds.share {
      guard let end = ends.takeSurplus() else { return }
      end()
    }
  }

  override func resumeStart(_ claim: @escaping @Sendable () -> (@Sendable () -> Void)?) {
    submit(start: .step { claim()?() })
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    executor.runAnywhere(job)
  }

  // MARK: What goes on by itself

  /// Everything that goes on by itself at the dispatcher; nil if nobody follows that.
  var continuations: Continuations? { followed.load() }

  /// Follows what goes on by itself from now on.
  func follow(_ continuations: Continuations) -> Continuations {
    followed.storeIfNil(continuations)
  }

  /// Returns a closure that counts as going on until it has returned, if that is followed.
  func goingOn(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    guard let continuations else { return body }
    continuations.begin()
    return {
      body()
      continuations.end()
    }
  }

  // MARK: Reuse of dispatches

  /// Returns a dispatch to use: one that has ended, if there is one.
  func makeDispatch(on thread: ThreadState) -> Dispatch {
    if let spare = thread.spareDispatches.pop() { return spare }
    thread.spareDispatches.takeOver(returns.takeAll())
    return thread.spareDispatches.pop() ?? Dispatch()
  }

  /// Keeps an ended dispatch for reuse; the caller has the only reference.
  func recycle(_ dispatch: consuming Dispatch, on thread: ThreadState) {
    thread.spareDispatches.push(dispatch)
    if thread.spareDispatches.isFull { returns.put(&thread.spareDispatches) }
  }

  // MARK: Submitting jobs

  override func noteSkipped() {
    starts.noteSkipped()
  }

  /// Releases memory: a dispatch that waited for others is in the inbox once these have ended, and is removed there.
  override func releaseParked(_ dispatch: Dispatch) { noteSkipped() }

  /// Submits a job that starts an action; suspension holds it back.
  func submit(start: Job, for dispatcher: Dispatcher? = nil) {
    yieldPoint(.pushStart)
    starts.push(start, width: widthForPush, on: .current)
    // Either this thread sees that a drainer has left, or the drainer finds the job when it checks once more. Each
    // writes first, and then reads the other's write.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.schedule)
    let mostDrainers = mostDrainers(widthForPush, begun: begunCount.load(ordering: .relaxed))
    if drainerCount.load(ordering: .sequentiallyConsistent) >= mostDrainers,
      !pushNeedsState.load(ordering: .sequentiallyConsistent)
    {
      return
    }
    submitRest(for: dispatcher)
  }

  /// Whether at most as many workers run, including the calling one, as the queue is wide.
  var mayStart: Bool {
    let running = runningCount.load(ordering: .relaxed)
    // A user's queue takes a lock to give its width.
    return running <= 1 || running <= width
  }

  /// Adds workers for starts that are in the inbox.
  func submitRest(for dispatcher: Dispatcher?) {
    reinforce(
      change(.schedule) { state, capacity in
        if let dispatcher, retainedDispatcher == nil { retainedDispatcher = dispatcher }
        return state.startPushed(capacity)
      })
  }

  /// Puts a lane behind the other starts, on a worker's thread.
  ///
  /// No other worker is needed, since this one checks for starts before it leaves.
  func putBack(_ lane: Lane) {
    yieldPoint(.pushStart)
    starts.push(.lane(lane), width: widthForPush, on: .current)
  }

  /// Submits a job that continues an action; suspension does not hold it back.
  func submit(step job: Job) {
    reinforce(
      change(.pushStep) { state, capacity in
        // Read under the lock: a suspension either comes before and is seen, or comes after and finds the step.
        state.push(step: job, isSuspended: self.isSuspended, capacity)
      })
  }

  /// Submits a job that runs no action: neither suspension nor actions that block all places hold it back.
  func submit(end job: Job) {
    reinforce(
      change(.pushStep) { state, capacity in
        state.push(end: job, isSuspended: self.isSuspended, capacity)
      })
  }

  /// Takes a step or an end for a worker that has a place.
  func popStep() -> Job? {
    let (job, reinforcement) = change(.popStep) { $0.popStep($1) }
    reinforce(reinforcement)
    return job
  }

  /// Takes an end for the worker that has no place; nil once that has left.
  func popEnd() -> Job? { change(.popStep) { state, _ in state.popEnd() } }

  // MARK: Reports of the queue and of waiting threads

  /// Adds a substitute for the steps that the suspended queue holds back.
  func queueWasSuspended() {
    reinforce(change(.schedule) { $0.queueWasSuspended($1) })
  }

  /// Adds drainers for the starts in the inbox, since the width of the queue was set.
  func queueWasWidened() {
    if isPlanted(.lostWidening) { return }
    for _ in 0..<width where !starts.isEmpty { submitRest(for: nil) }
  }

  /// Whether there may be work for a place of the queue that another pool's worker has given up.
  ///
  /// If not, drainers are queued for whatever is left here.
  var usesFreePlaces: Bool {
    hasWork.load(ordering: .sequentiallyConsistent) || isScarce.load(ordering: .relaxed)
  }

  /// Adds workers for the jobs that are left, since a worker has left or waits.
  func seeToWork() {
    let hasStarts = !starts.isEmpty
    reinforce(
      change(.schedule) {
        $0.workIsLeft(hasStarts: hasStarts, isSuspended: self.isSuspended, $1)
      })
  }

  // MARK: Workers

  /// Changes the state, and the copies that threads read without the lock.
  func change<Result>(
    _ transition: Transition, _ body: (inout PoolState, PoolState.Capacity) -> Result
  ) -> Result {
    // The width may be outdated under the lock: while there are starts, a drainer is queued, which reads it again.
    let width = self.width
    yieldPoint(transition)
    return shared.state.withLock { shared in
      let before = state.running
      let stepPlaces = width - (shared.running - before)
      let capacity = PoolState.Capacity(
        drainers: mostDrainers(width, begun: state.begun), width: width, stepPlaces: stepPlaces,
        places: stepPlaces - otherOperations.load(ordering: .relaxed),
        maySubstitute: maySubstitute(state))
      defer {
        shared.running += state.running - before
        drainerCount.store(state.drainers, ordering: .sequentiallyConsistent)
        begunCount.store(state.begun, ordering: .relaxed)
        runningCount.store(state.running, ordering: .relaxed)
        lastWidth.store(width, ordering: .relaxed)
        // While no dispatcher is kept alive, a push has to set one.
        pushNeedsState.store(
          state.pushNeedsState || retainedDispatcher == nil, ordering: .sequentiallyConsistent)
        hasWork.store(state.hasWork, ordering: .sequentiallyConsistent)
        isScarce.store(state.isScarce, ordering: .relaxed)
      }
      return body(&state, capacity)
    }
  }

  /// Whether substitutes may start actions.
  private func maySubstitute(_ state: PoolState) -> Bool {
    state.isScarce && !blockedThreads.isEmpty && !holdsStartsBack
  }

  /// Adds or notifies the workers that the state has decided on.
  func reinforce(_ reinforcement: PoolState.Reinforcement) {
    if reinforcement.isEmpty { return }
    if reinforcement.contains(.notifySpinning) { spinWait.notify() }
    if reinforcement.contains(.drainer) { addDrainer() }
    if reinforcement.contains(.substitute) { addSubstitute() }
    if reinforcement.contains(.ender) { addEnder() }
    // A simulated world itself checks whether no thread can run.
    if reinforcement.contains(.watch), world == nil { StallMonitor.ofProcess.keepRunning() }
  }

  private func addDrainer() {
    let drainer = Drainer { drainer in
      self.change(.beginDraining) { state, _ in state.drainerBegins() }
      // If a user's queue was widened, further drainers follow one another. Either this thread sees a start, or the
      // thread that pushes it sees that the drainer has begun.
      atomicMemoryFence(ordering: .sequentiallyConsistent)
      if self.poolQueue == nil, !self.starts.isEmpty, !isPlanted(.lostWidening) {
        self.submitRest(for: nil)
      }
      PoolWorker(of: self, .drainer(drainer)).run()
    }
    if let world { return world.run(.operation(queue)) { drainer.start() } }
    // The queue gives closures its own quality of service, too.
    drainer.qualityOfService = queue.qualityOfService
    queue.addOperation(drainer)
  }

  func addSubstitute() {
    HelperThreads.run(in: world) { PoolWorker(of: self, .substitute).run() }
  }

  private func addEnder() {
    HelperThreads.run(in: world) { PoolWorker(of: self, .ender(takesEnds: true)).runEnds() }
  }

  /// Whether some drainer has not begun.
  var isQueued: Bool {
    drainerCount.load(ordering: .sequentiallyConsistent) > begunCount.load(ordering: .relaxed)
  }

  /// Checks, for the stall monitor, whether substitutes must take over because the queue begins no drainer.
  ///
  /// Returns whether steps are left to the queue, which has not begun the drainer for them.
  func check(threadsBlock: Bool) -> Bool {
    guard isQueued, hasWork.load(ordering: .sequentiallyConsistent) || threadsBlock else {
      return false
    }
    let startsWait = threadsBlock && !starts.isEmpty && !holdsStartsBack
    let isAwaited = shared.isAwaited
    otherOperations.store(startsWait ? shared.otherOperations : 0, ordering: .relaxed)
    reinforce(change(.schedule) { $0.check(startsWait: startsWait, isAwaited: isAwaited, $1) })
    return hasWork.load(ordering: .sequentiallyConsistent)
  }

  /// Removes a worker; with the last one returns the dispatcher, to be released outside of the lock.
  func leave(isSubstitute: Bool) -> (hasLeft: Bool, released: Dispatcher?) {
    change(.leavePool) { state, _ in
      guard state.leave(isSubstitute: isSubstitute) else { return (false, nil) }
      return (true, state.isIdle ? retainedDispatcher.take() : nil)
    }
  }

  /// Moves a drainer to the end of the queue.
  func requeueDrainer() {
    // A step that was left to this drainer may now be held back by the queue.
    reinforce(
      change(.requeue) { state, capacity in
        state.drainerRequeues(isSuspended: self.isSuspended, capacity)
      })
    addDrainer()
  }

  // MARK: Spinning

  /// Spins for a push to a lane, if there is no other start; returns whether it came.
  func spin(on thread: ThreadState, until condition: () -> Bool) -> Bool {
    guard !thread.fields.pointee.hasResumedOthers, starts.isEmpty, spinWait.begin(on: thread) else {
      return false
    }
    defer { spinWait.end() }
    return SpinWait.spin(nanoseconds: SpinWait.laneNanoseconds, until: condition)
  }

  /// Spins for a job; returns whether there is one.
  func spinForWork(on thread: ThreadState) -> Bool {
    // The cooperative pool lets a resumed task wait for this thread, rather than wake another one.
    guard !thread.fields.pointee.hasResumedOthers, spinWait.begin(on: thread) else { return false }
    defer { spinWait.end() }
    guard change(.beginSpinning, { $0.beginSpinning($1) }) else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if starts.isEmpty { spinWait.waitUntilNotified() }
    thread.fields.pointee.foundWorkBySpinning =
      change(.endSpinning) { state, _ in state.endSpinning() } || !starts.isEmpty
    return thread.fields.pointee.foundWorkBySpinning
  }
}
