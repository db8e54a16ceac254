import Foundation
import Synchronization

/// The concurrent queue: plain operations on an `OperationQueue` that take jobs from one inbox.
///
/// The queue stays the executor: its width, quality of service and suspension are obeyed. An
/// operation that waits inside the library lends its place, so that what it waits for can run.
final class ConcurrentPool: Scheduler, @unchecked Sendable {
  // because `state` guards what changes
  let queue: OperationQueue
  /// The same, where it is the library's own.
  let poolQueue: PoolQueue?
  /// Nil but in a simulation.
  let world: (any SimulatedWorld)?
  let starts: StartInbox
  let state = Locked(PoolState())
  // What of `state` those have to know who push and take, without its lock.
  let drainerCount = Atomic(0)
  private let isOpenToOthers = Atomic(false)
  let hasSteps = Atomic(false)
  let spinWait = SpinWait()
  private let returns = DispatchReturns()
  /// The width of a queue of somebody else's, when it was looked at last.
  private let knownWidth = Atomic(0)
  /// Kept alive while somebody takes jobs; guarded by `state`.
  var busyFor: Dispatcher?
  /// After so many actions a drainer goes to the end of the queue, behind operations of others.
  static let batch = 256
  /// How often a queue is looked at that does not say what happens to it.
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

  /// Its dispatcher has gone: nothing is under way, and nothing comes.
  func detach() {
    poolQueue?.attach(nil)
  }

  override var isSuspended: Bool {
    @inline(__always) get { poolQueue?.isHeldBack ?? queue.isSuspended }
  }

  /// The number of threads that may run jobs at once.
  var width: Int {
    let width = poolQueue?.width ?? queue.maxConcurrentOperationCount
    if width > 0 { return width }
    guard width < 0 else { return 1 }
    return world?.width ?? ProcessInfo.processInfo.activeProcessorCount
  }

  override var dispatcher: Dispatcher? { state.withLock { _ in busyFor } }

  // MARK: Dispatches to be used again

  /// A dispatch to be used, one that has ended where there is one.
  @inline(__always)
  func makeDispatch(on thread: ThreadState) -> Dispatch {
    if let spare = thread.spareDispatches.pop() { return spare }
    thread.spareDispatches.takeOver(returns.takeAll())
    return thread.spareDispatches.pop() ?? Dispatch()
  }

  /// Keeps a dispatch that has ended, and to which nobody else refers.
  @inline(__always)
  func recycle(_ dispatch: consuming Dispatch, on thread: ThreadState) {
    thread.spareDispatches.push(dispatch)
    if thread.spareDispatches.isFull { returns.put(&thread.spareDispatches) }
  }

  // MARK: Pushing

  /// Changes the state, and notes what those who look at it without the lock have to know.
  @inline(__always)
  func change<Result>(
    _ transition: Transition, _ body: (inout PoolState, _ width: Int) -> Result
  ) -> Result {
    let width = self.width
    yieldPoint(transition)
    return state.withLock { state in
      defer {
        drainerCount.store(state.drainers, ordering: .sequentiallyConsistent)
        // Whoever pushes while nobody is kept alive comes by, and sees to that.
        isOpenToOthers.store(
          state.isOpenToOthers || busyFor == nil, ordering: .sequentiallyConsistent)
        hasSteps.store(state.hasSteps, ordering: .sequentiallyConsistent)
      }
      return body(&state, width)
    }
  }

  /// Submits a job that starts an action, to be held back by suspension.
  func submit(start: StartInbox.Start, for dispatcher: Dispatcher? = nil) {
    yieldPoint(.pushStart)
    starts.push(start, width: width, on: .current)
    // Either this finds a drainer that has left, or that one finds the job when it looks once more:
    // each writes first, and then reads what the other one writes.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    yieldPoint(.schedule)
    if drainerCount.load(ordering: .sequentiallyConsistent) >= width,
      !isOpenToOthers.load(ordering: .sequentiallyConsistent)
    {
      return
    }
    reinforce(
      change(.schedule) { state, width in
        if let dispatcher, busyFor == nil { busyFor = dispatcher }
        return state.startPushed(width: width)
      })
  }

  /// Puts a lane behind the other jobs that start actions, for a thread that takes jobs: as that itself
  /// is free again, and looks for jobs before it leaves, nobody else is needed.
  func putBack(_ lane: Lane) {
    let width = width
    yieldPoint(.pushStart)
    starts.push(.lane(lane), width: width, on: .current)
    // A queue of somebody else's does not say when it is widened: it is looked at.
    guard poolQueue == nil else { return }
    if knownWidth.exchange(width, ordering: .relaxed) < width { queueWasWidened() }
  }

  /// Submits a job that continues an action.
  func submit(step job: Job) {
    let (push, areStepsHeld) = change(.pushStep) { state, width in
      // Asked under the lock: a suspension comes before and is seen, or after and finds the step.
      let push = state.push(step: job, isSuspended: self.isSuspended, width: width)
      return (push, state.areStepsHeld)
    }
    reinforce(push, areStepsHeld: areStepsHeld)
  }

  /// A queue of somebody else's does not say when it is suspended: it has to be looked at.
  func lookLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.pollingInterval / .seconds(1)) {
      guard self.state.withLock({ $0.areStepsHeld }) else { return }
      if self.queue.isSuspended { self.queueWasSuspended() } else { self.lookLater() }
    }
  }

  /// The queue was suspended: what it holds back of actions under way goes on beside it.
  func queueWasSuspended() {
    reinforce(change(.schedule) { $0.queueWasSuspended(width: $1) })
  }

  /// The queue is wider, perhaps: more of what is there can be taken at once.
  func queueWasWidened() {
    for _ in 0..<width where !starts.isEmpty {
      let push = change(.schedule) { $0.startPushed(width: $1) }
      reinforce(push)
      guard case .addDrainer = push else { return }
    }
  }

  /// - Parameter areStepsHeld: Whether the queue may come to hold them back: one of somebody else's has to
  ///   be looked at for that.
  func reinforce(_ push: PoolState.Push, areStepsHeld: Bool = false) {
    defer { if areStepsHeld, poolQueue == nil { lookLater() } }
    switch push {
    case .none: break
    case .addDrainer: addDrainer()
    case .addSubstitute: addSubstitute()
    case .tellLingerer: spinWait.tell()
    }
  }

  func addDrainer() {
    let body: @Sendable () -> Void = {
      self.change(.beginDraining) { state, _ in state.drainerBegins() }
      self.drain(isSubstitute: false)
    }
    if let world { return world.run(.operation(queue), body) }
    let drainer = Drainer(body)
    // As the queue does with the closures that it is given.
    drainer.qualityOfService = queue.qualityOfService
    queue.addOperation(drainer)
  }

  /// A serial queue of its own has a thread at once; the shared ones add one in a second.
  func addSubstitute(after delay: Duration = .zero) {
    if let world {
      return world.run(.substitute(after: delay)) { self.drain(isSubstitute: true) }
    }
    let queue = DispatchQueue(label: "DispatchStore.substitute", qos: self.queue.dispatchQoS)
    queue.asyncAfter(deadline: .now() + delay / .seconds(1)) { self.drain(isSubstitute: true) }
  }

  // MARK: Waits

  /// The calling thread, which takes jobs of this pool, begins to wait inside the library.
  func beginWait() {
    if isPlanted(.placeNotLent) { return }
    reinforce(change(.beginWait) { $0.beginWait(width: $1) })
    // Those who push from here on come by the state; what was pushed before is looked for.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !starts.isEmpty { reinforce(change(.schedule) { $0.startPushed(width: $1) }) }
  }

  func endWait() {
    if isPlanted(.placeNotLent) { return }
    change(.endWait) { state, _ in state.endWait() }
  }

  // MARK: Scheduler

  override var runsStoresConcurrently: Bool { true }
  override var description: String { "the concurrent queue" }

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    // One that waits for others has no place to keep: it is parked, and submitted when it can run.
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
}
