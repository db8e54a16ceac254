import Foundation
import Synchronization

/// The concurrent queue: plain operations on an `OperationQueue` that take jobs from one inbox.
///
/// The queue stays the executor: its width, quality of service and suspension are obeyed. An operation
/// that waits inside the library lends its place, so that what it waits for can run.
final class ConcurrentPool: Scheduler, @unchecked Sendable {
  // because `state` guards what changes
  let queue: OperationQueue
  /// The same, where it is the library's own.
  private let poolQueue: PoolQueue?
  /// Nil but in a simulation.
  let world: (any SimulatedWorld)?
  let starts: StartInbox
  private let state = Locked(PoolState())
  // What of `state` threads read without its lock when they push and take jobs.
  let drainerCount = Atomic(0)
  private let pushNeedsState = Atomic(false)
  let hasSteps = Atomic(false)
  private let spinWait = SpinWait()
  private let returns = DispatchReturns()
  /// The width of a user's queue when it was last read.
  private let knownWidth = Atomic(0)
  /// Kept alive while there are drainers; guarded by `state`.
  private var retainedDispatcher: Dispatcher?
  /// How often the pool reads whether a user's queue is suspended.
  static let pollingInterval = Duration.milliseconds(5)

  init(queue: OperationQueue, in world: (any SimulatedWorld)? = nil) {
    self.queue = queue
    self.world = world
    starts = StartInbox(for: world?.width ?? ProcessInfo.processInfo.activeProcessorCount)
    poolQueue = queue as? PoolQueue
    super.init()
    knownWidth.store(width, ordering: .relaxed)
    poolQueue?.attach(self)
  }

  /// Its dispatcher has gone: no job is left, and none comes.
  func detach() {
    poolQueue?.attach(nil)
  }

  /// The number of threads that may run jobs at once.
  var width: Int {
    let width = poolQueue?.width ?? queue.maxConcurrentOperationCount
    if width > 0 { return width }
    guard width < 0 else { return 1 }
    return world?.width ?? ProcessInfo.processInfo.activeProcessorCount
  }

  // MARK: Scheduler

  override var workers: ConcurrentPool? { self }
  override var runsStoresConcurrently: Bool { true }
  override var description: String { "the concurrent queue" }
  override var dispatcher: Dispatcher? { state.withLock { _ in retainedDispatcher } }

  override var isSuspended: Bool { poolQueue?.isHeldBack ?? queue.isSuspended }

  /// Whether workers leave starts in the inbox.
  var holdsStartsBack: Bool { isSuspended && !isPlanted(.ignoredSuspension) }

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    // One that waits for others keeps no place here: it is parked, and submitted when it can run.
    if dispatch.isHeldBack {
      var dispatch = dispatch
      _ = Dispatch.start(&dispatch, on: .current)
    } else if dispatch.isEmpty {
      submit(step: .dispatch(dispatch))
    } else {
      submit(start: .dispatch(dispatch), for: dispatcher)
    }
    return true
  }

  override func unpark(_ dispatch: Dispatch) {
    submit(start: .dispatch(dispatch))
  }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    submit(step: .step(step))
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    executor.runAnywhere(job)
  }

  // MARK: Dispatches to use again

  /// A dispatch to use, one that has ended where there is one.
  func makeDispatch(on thread: ThreadState) -> Dispatch {
    thread.spareDispatches.pop() ?? takeReturnedDispatch(on: thread)
  }

  private func takeReturnedDispatch(on thread: ThreadState) -> Dispatch {
    thread.spareDispatches.takeOver(returns.takeAll())
    return thread.spareDispatches.pop() ?? Dispatch()
  }

  /// Keeps a dispatch that has ended, and to which the caller has the only reference.
  func recycle(_ dispatch: consuming Dispatch, on thread: ThreadState) {
    thread.spareDispatches.push(dispatch)
    if thread.spareDispatches.isFull { returns.put(&thread.spareDispatches) }
  }

  // MARK: Submitting jobs

  /// Submits a job that starts an action; suspension holds it back.
  func submit(start: StartInbox.Start, for dispatcher: Dispatcher? = nil) {
    yieldPoint(.pushStart)
    starts.push(start, width: width, on: .current)
    // Either this thread sees that a drainer has left, or the drainer finds the job when it checks
    // once more: each writes first, and then reads what the other one writes.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.schedule)
    if drainerCount.load(ordering: .sequentiallyConsistent) >= width,
      !pushNeedsState.load(ordering: .sequentiallyConsistent)
    {
      return
    }
    reinforce(
      change(.schedule) { state, width in
        if let dispatcher, retainedDispatcher == nil { retainedDispatcher = dispatcher }
        return state.startPushed(width: width)
      })
  }

  /// Puts a lane behind the other starts, on a worker's thread: the worker checks for starts before it
  /// leaves, so that no other is needed.
  func putBack(_ lane: Lane) {
    let width = width
    yieldPoint(.pushStart)
    starts.push(.lane(lane), width: width, on: .current)
    // A user's queue doesn't notify the pool when it is widened.
    guard poolQueue == nil else { return }
    if knownWidth.exchange(width, ordering: .relaxed) < width { queueWasWidened() }
  }

  /// Submits a job that continues an action; suspension does not hold it back.
  func submit(step job: Job) {
    let (reinforcement, areStepsHeld) = change(.pushStep) { state, width in
      // Read under the lock: a suspension comes before and is seen, or after and finds the step.
      let reinforcement = state.push(step: job, isSuspended: self.isSuspended, width: width)
      return (reinforcement, state.areStepsHeld)
    }
    reinforce(reinforcement, areStepsHeld: areStepsHeld)
  }

  // MARK: What the queue and waiting threads report

  /// The queue was suspended: substitutes run the steps that it holds back.
  func queueWasSuspended() {
    reinforce(change(.schedule) { $0.queueWasSuspended(width: $1) })
  }

  /// A user's queue doesn't notify the pool when it is suspended.
  private func pollForSuspension() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.pollingInterval / .seconds(1)) {
      guard self.state.withLock({ $0.areStepsHeld }) else { return }
      if self.queue.isSuspended { self.queueWasSuspended() } else { self.pollForSuspension() }
    }
  }

  /// The queue may be wider: more drainers can take the starts that are there.
  func queueWasWidened() {
    for _ in 0..<width where !starts.isEmpty {
      let reinforcement = change(.schedule) { $0.startPushed(width: $1) }
      reinforce(reinforcement)
      guard case .addDrainer = reinforcement else { return }
    }
  }

  /// The calling thread, a worker, is about to wait inside the library.
  func beginWait() {
    if isPlanted(.placeNotLent) { return }
    reinforce(change(.beginWait) { $0.beginWait(width: $1) })
    // From here on pushes look at the state; this thread looks for those before.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !starts.isEmpty { reinforce(change(.schedule) { $0.startPushed(width: $1) }) }
  }

  func endWait() {
    if isPlanted(.placeNotLent) { return }
    change(.endWait) { state, _ in state.endWait() }
  }

  // MARK: Workers

  /// Changes the state, and what of it threads read without the lock.
  func change<Result>(
    _ transition: Transition, _ body: (inout PoolState, _ width: Int) -> Result
  ) -> Result {
    let width = self.width
    yieldPoint(transition)
    return state.withLock { state in
      defer {
        drainerCount.store(state.drainers, ordering: .sequentiallyConsistent)
        // While no dispatcher is kept alive, a push has to set one.
        pushNeedsState.store(
          state.pushNeedsState || retainedDispatcher == nil, ordering: .sequentiallyConsistent)
        hasSteps.store(state.hasSteps, ordering: .sequentiallyConsistent)
      }
      return body(&state, width)
    }
  }

  /// Adds or notifies the worker that the state has decided on.
  ///
  /// - Parameter areStepsHeld: Whether steps are held back as soon as the queue is suspended.
  func reinforce(_ reinforcement: PoolState.Reinforcement, areStepsHeld: Bool = false) {
    defer { if areStepsHeld, poolQueue == nil { pollForSuspension() } }
    switch reinforcement {
    case .none: break
    case .addDrainer: addDrainer()
    case .addSubstitute: addSubstitute()
    case .notifySpinning: spinWait.notify()
    }
  }

  private func addDrainer() {
    let body: @Sendable () -> Void = {
      self.change(.beginDraining) { state, _ in state.drainerBegins() }
      PoolWorker(of: self, isSubstitute: false).run()
    }
    if let world { return world.run(.operation(queue), body) }
    let drainer = Drainer(body)
    // As the queue does with the closures that it gets.
    drainer.qualityOfService = queue.qualityOfService
    queue.addOperation(drainer)
  }

  /// On a queue made for it, which has a thread at once: the shared ones add one in a second.
  func addSubstitute(after delay: Duration = .zero) {
    let body: @Sendable () -> Void = { PoolWorker(of: self, isSubstitute: true).run() }
    if let world { return world.run(.substitute(after: delay), body) }
    let queue = DispatchQueue(label: "DispatchStore.substitute", qos: self.queue.dispatchQoS)
    queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
  }

  /// A drainer leaves; with the last one, the dispatcher is released.
  func leave() -> (hasLeft: Bool, released: Dispatcher?) {
    change(.leavePool) { state, _ in
      guard state.leave(isSubstitute: false) else { return (false, nil) }
      return (true, state.drainers == 0 ? retainedDispatcher.take() : nil)
    }
  }

  /// A drainer that has left found a start; whether it is back.
  func reenter(for released: Dispatcher?) -> Bool {
    let (isBack, reinforcement) = change(.recheck) { state, width in
      let isBack = state.reenter(width: width)
      if retainedDispatcher == nil, state.drainers > 0 { retainedDispatcher = released }
      // Where the queue has become narrower, all those that stay may be waiting.
      return (isBack, isBack ? .none : state.startPushed(width: width))
    }
    reinforce(reinforcement)
    return isBack
  }

  /// A drainer goes to the end of the queue.
  func requeueDrainer() {
    // A step that was left to this drainer may now be held back by the queue.
    let (reinforcement, areStepsHeld) = change(.requeue) { state, width in
      state.drainerRequeues()
      let reinforcement = isSuspended ? state.queueWasSuspended(width: width) : .none
      return (reinforcement, state.areStepsHeld)
    }
    addDrainer()
    reinforce(reinforcement, areStepsHeld: areStepsHeld)
  }

  // MARK: Spinning

  /// Spins for a push to a lane, where there is no other start; whether it came.
  func spin(on thread: ThreadState, until condition: () -> Bool) -> Bool {
    guard !thread.hasResumedOthers, starts.isEmpty, spinWait.begin(on: thread) else { return false }
    defer { spinWait.end() }
    return SpinWait.spin(nanoseconds: SpinWait.laneNanoseconds, until: condition)
  }

  /// Spins for a job; whether there is one.
  func spinForWork(on thread: ThreadState) -> Bool {
    // The system's pool lets a resumed task wait for this thread, rather than wake another one.
    guard !thread.hasResumedOthers, spinWait.begin(on: thread) else { return false }
    defer { spinWait.end() }
    guard change(.beginSpinning, { $0.beginSpinning(width: $1) }) else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if starts.isEmpty { spinWait.waitUntilNotified() }
    thread.foundWorkBySpinning =
      change(.endSpinning) { state, _ in state.endSpinning() } || !starts.isEmpty
    return thread.foundWorkBySpinning
  }
}
