import Foundation
import Synchronization

/// The concurrent queue: plain operations on an `OperationQueue` that take jobs from one inbox.
///
/// The queue stays the executor: its width, quality of service and suspension are obeyed. An
/// operation that waits inside the library lends its place, so that what it waits for can run.
final class ConcurrentPool: Venue, @unchecked Sendable {
  // because `state` guards what changes
  let queue: OperationQueue
  /// The same, where it is the library's own.
  private let poolQueue: PoolQueue?
  private let starts = StartInbox()
  private let state = Locked(PoolState())
  // What of `state` those have to know who push and take, without its lock.
  private let drainerCount = Atomic(0)
  private let isOpenToOthers = Atomic(false)
  private let hasSteps = Atomic(false)
  private let lookout = Lookout()
  private let returns = DispatchReturns()
  /// Kept alive while somebody takes jobs; guarded by `state`.
  private var busyFor: Dispatcher?
  /// After so many actions a drainer goes to the end of the queue, behind operations of others.
  private static let batch = 256
  /// How often a queue is looked at that does not say what happens to it.
  private static let pollingInterval = DispatchTimeInterval.milliseconds(5)

  init(queue: OperationQueue) {
    self.queue = queue
    poolQueue = queue as? PoolQueue
    super.init()
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
  private var width: Int {
    let width = poolQueue?.width ?? queue.maxConcurrentOperationCount
    return width < 0 ? ProcessInfo.processInfo.activeProcessorCount : max(width, 1)
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
  private func change<Result>(_ body: (inout PoolState, _ width: Int) -> Result) -> Result {
    let width = self.width
    return state.withLock { state in
      defer {
        drainerCount.store(state.drainers, ordering: .sequentiallyConsistent)
        isOpenToOthers.store(state.isOpenToOthers, ordering: .sequentiallyConsistent)
        hasSteps.store(state.hasSteps, ordering: .sequentiallyConsistent)
      }
      return body(&state, width)
    }
  }

  /// Submits a job that starts an action, to be held back by suspension.
  func submit(start: StartInbox.Start, for dispatcher: Dispatcher? = nil) {
    starts.push(start, width: width, on: .current)
    // Either this finds a drainer that has left, or that one finds the job when it looks once more:
    // each writes first, and then reads what the other one writes.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if drainerCount.load(ordering: .sequentiallyConsistent) >= width,
      !isOpenToOthers.load(ordering: .sequentiallyConsistent)
    {
      return
    }
    reinforce(
      change { state, width in
        if let dispatcher, busyFor == nil { busyFor = dispatcher }
        return state.startPushed(width: width)
      })
  }

  /// Submits a job that continues an action.
  func submit(step job: Job) {
    let isSuspended = self.isSuspended
    let (push, areStepsHeld) = change { state, width in
      let push = state.push(step: job, isSuspended: isSuspended, width: width)
      return (push, state.areStepsHeld)
    }
    reinforce(push)
    if areStepsHeld, poolQueue == nil { lookLater() }
  }

  /// A queue of somebody else's does not say when it is suspended: it has to be looked at.
  private func lookLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.pollingInterval) {
      guard self.state.withLock({ $0.areStepsHeld }) else { return }
      if self.queue.isSuspended { self.queueWasSuspended() } else { self.lookLater() }
    }
  }

  /// The queue was suspended: what it holds back of actions under way goes on beside it.
  func queueWasSuspended() {
    reinforce(change { $0.queueWasSuspended(width: $1) })
  }

  /// The queue is wider, perhaps: more of what is there can be taken at once.
  func queueWasWidened() {
    for _ in 0..<width where !starts.isEmpty {
      let push = change { $0.startPushed(width: $1) }
      reinforce(push)
      guard case .addDrainer = push else { return }
    }
  }

  private func reinforce(_ push: PoolState.Push) {
    switch push {
    case .none: break
    case .addDrainer: addDrainer()
    case .addSubstitute: addSubstitute()
    case .tellLingerer: lookout.tell()
    }
  }

  private func addDrainer() {
    queue.addOperation {
      self.change { state, _ in state.drainerBegins() }
      self.drain(isSubstitute: false)
    }
  }

  /// A serial queue of its own has a thread at once; the shared ones add one in a second.
  private func addSubstitute(after delay: DispatchTimeInterval = .never) {
    let queue = DispatchQueue(label: "DispatchStore.substitute", qos: self.queue.dispatchQoS)
    if delay == .never {
      queue.async { self.drain(isSubstitute: true) }
    } else {
      queue.asyncAfter(deadline: .now() + delay) { self.drain(isSubstitute: true) }
    }
  }

  // MARK: Draining

  private func drain(isSubstitute: Bool) {
    let thread = ThreadState.current
    let outer = thread.pool
    thread.pool = self
    thread.hasResumedOthers = false
    defer { thread.pool = outer }
    var left = Self.batch
    while left > 0 {
      switch next(isSubstitute, on: thread) {
      case .run(let job): left -= job.run(in: self, on: thread)
      case .suspended: return requeue(isSubstitute, isSuspended: true)
      case .nothing: if isSubstitute ? substituteLeaves() : drainerLeaves(on: thread) { return }
      }
    }
    requeue(isSubstitute, isSuspended: false)
  }

  private enum Next {
    case run(Job)
    /// The queue is suspended, and only starts are left.
    case suspended
    case nothing
  }

  @inline(__always)
  private func next(_ isSubstitute: Bool, on thread: ThreadState) -> Next {
    if hasSteps.load(ordering: .acquiring), let step = change({ state, _ in state.popStep() }) {
      return .run(step)
    }
    // Where the queue has become narrower, some have to leave.
    let mayStart =
      isSubstitute
      ? change { $0.standsIn($1) } : drainerCount.load(ordering: .relaxed) <= width
    guard mayStart else { return .nothing }
    if isSuspended { return starts.isEmpty ? .nothing : .suspended }
    return starts.pop(on: thread).map(Next.run) ?? .nothing
  }

  /// While somebody waits, those who push come by the state: nothing has to be looked for once more.
  private func substituteLeaves() -> Bool {
    change { state, _ in state.leave(isSubstitute: true) }
  }

  private func drainerLeaves(on thread: ThreadState) -> Bool {
    if linger(on: thread) { return false }
    let (hasLeft, released) = change { state, _ -> (Bool, Dispatcher?) in
      guard state.leave(isSubstitute: false) else { return (false, nil) }
      return (true, state.drainers == 0 ? busyFor.take() : nil)
    }
    guard hasLeft else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    guard !starts.isEmpty else { return true }
    let isBack = change { state, width in
      guard state.reenter(width: width) else { return false }
      if busyFor == nil { busyFor = released }
      return true
    }
    return !isBack
  }

  /// Looks out for something for a few microseconds, where there is nothing else to do.
  func lookOut(on thread: ThreadState, for condition: () -> Bool) -> Bool {
    guard !thread.hasResumedOthers, starts.isEmpty, lookout.begin() else { return false }
    defer { lookout.end() }
    return Lookout.wait(nanoseconds: Lookout.ofLanes, for: condition)
  }

  /// Looks out for work for some microseconds, where nobody else does; whether there is some.
  private func linger(on thread: ThreadState) -> Bool {
    // The system's pool lets a resumed task wait for its thread rather than wake another one.
    guard !thread.hasResumedOthers, lookout.begin() else { return false }
    defer { lookout.end() }
    guard change({ $0.beginLingering(width: $1) }) else { return false }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if starts.isEmpty { lookout.waitToBeTold() }
    return change { state, _ in state.endLingering() } || !starts.isEmpty
  }

  private func requeue(_ isSubstitute: Bool, isSuspended: Bool) {
    if isSubstitute {
      // Nothing tells a thread beside the queue that the queue goes on: it has to look.
      addSubstitute(after: isSuspended ? Self.pollingInterval : .never)
    } else {
      change { state, _ in state.drainerRequeues() }
      addDrainer()
    }
  }

  // MARK: Waits

  /// The calling thread, which takes jobs of this pool, begins to wait inside the library.
  func beginWait() {
    reinforce(change { $0.beginWait(width: $1) })
    // Those who push from here on come by the state; what was pushed before is looked for.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if !starts.isEmpty { reinforce(change { $0.startPushed(width: $1) }) }
  }

  func endWait() {
    change { state, _ in state.endWait() }
  }

  // MARK: Venue

  override var runsSideBySide: Bool { true }
  override var description: String { "the concurrent queue" }

  override func take(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> Bool {
    // One that waits for others has no place to keep: it is parked, and submitted when it can run.
    if dispatch.isHeldBack {
      var dispatch = dispatch
      _ = Dispatch.reach(&dispatch, on: .current)
    } else if dispatch.isEmpty {
      submit(step: .dispatch(dispatch))
    } else {
      submit(start: .dispatch(dispatch), for: dispatcher)
    }
    return true
  }

  override func resume(_ dispatch: Dispatch) {
    submit(start: .dispatch(dispatch))
  }

  override func post(_ step: @escaping @Sendable () -> Void) {
    submit(step: .step(step))
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    DispatchQueue.global().async { executor.run(job) }
  }
}
