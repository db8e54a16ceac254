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
  private let state = Locked(PoolState())
  private let returns = DispatchReturns()
  /// After so many jobs a drainer goes to the end of the queue, behind operations of others.
  private static let batch = 256
  /// How often a queue is looked at that does not say what happens to it.
  private static let pollingInterval = DispatchTimeInterval.milliseconds(5)

  init(queue: OperationQueue) {
    self.queue = queue
    poolQueue = queue as? PoolQueue
    super.init()
    (queue as? PoolQueue)?.pool = self
  }

  override var isSuspended: Bool {
    @inline(__always) get { poolQueue?.isHeldBack ?? queue.isSuspended }
  }

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

  /// The number of threads that may run jobs at once.
  private var width: Int {
    let width = queue.maxConcurrentOperationCount
    return width < 0 ? ProcessInfo.processInfo.activeProcessorCount : max(width, 1)
  }

  /// - Parameter isStart: Whether the job starts an action: those are held back by suspension.
  func submit(_ job: Job, isStart: Bool) {
    let (isSuspended, width) = (self.isSuspended, self.width)
    let (push, areStepsHeld) = state.withLock {
      let push =
        isStart
        ? $0.push(start: job, width: width)
        : $0.push(step: job, isSuspended: isSuspended, width: width)
      return (push, $0.areStepsHeld)
    }
    reinforce(push)
    if areStepsHeld, !(queue is PoolQueue) { lookLater() }
  }

  /// A queue of somebody else's does not say when it is suspended: it has to be looked at.
  private func lookLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.pollingInterval) {
      guard self.state.withLock({ $0.areStepsHeld }) else { return }
      if self.queue.isSuspended { self.queueWasSuspended() } else { self.lookLater() }
    }
  }

  /// The queue was suspended: what it holds back of actions under way goes on beside it.
  fileprivate func queueWasSuspended() {
    let width = self.width
    reinforce(state.withLock { $0.queueWasSuspended(width: width) })
  }

  private func reinforce(_ push: PoolState.Push) {
    switch push {
    case .none: break
    case .addDrainer: addDrainer()
    case .addSubstitute: addSubstitute()
    }
  }

  private func addDrainer() {
    queue.addOperation {
      self.state.withLock { $0.drainerBegins() }
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

  private func drain(isSubstitute: Bool) {
    let thread = ThreadState.current
    let outer = thread.pool
    thread.pool = self
    defer { thread.pool = outer }
    for _ in 0..<Self.batch {
      let (isSuspended, width) = (self.isSuspended, self.width)
      let next = state.withLock {
        $0.next(isSuspended: isSuspended, isSubstitute: isSubstitute, width: width)
      }
      switch next {
      case .run(let job): job.run(in: self, on: thread)
      case .suspended: return requeue(isSubstitute, isSuspended: true)
      case .leave: return
      }
    }
    requeue(isSubstitute, isSuspended: false)
  }

  private func requeue(_ isSubstitute: Bool, isSuspended: Bool) {
    if isSubstitute {
      // Nothing tells a thread beside the queue that the queue goes on: it has to look.
      addSubstitute(after: isSuspended ? Self.pollingInterval : .never)
    } else {
      state.withLock { $0.drainerRequeues() }
      addDrainer()
    }
  }

  // MARK: Waits

  /// The calling thread, which takes jobs of this pool, begins to wait inside the library.
  func beginWait() {
    let width = self.width
    reinforce(state.withLock { $0.beginWait(width: width) })
  }

  func endWait() {
    state.withLock { $0.endWait() }
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
      resume(dispatch, isStart: false)
    } else {
      resume(dispatch)
    }
    return true
  }

  override func resume(_ dispatch: Dispatch) {
    resume(dispatch, isStart: true)
  }

  private func resume(_ dispatch: Dispatch, isStart: Bool) {
    submit(.dispatch(dispatch), isStart: isStart)
  }

  override func post(_ step: @escaping @Sendable () -> Void) {
    submit(.step(step), isStart: false)
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    DispatchQueue.global().async { executor.run(job) }
  }
}

/// A queue that tells its pool when it is suspended.
final class PoolQueue: OperationQueue, @unchecked Sendable {
  // because `pool` is set before the queue is handed out
  fileprivate weak var pool: ConcurrentPool?
  private let isStopped = Atomic(false)

  /// Whether it is suspended, without its lock.
  var isHeldBack: Bool { isStopped.load(ordering: .acquiring) }

  override var isSuspended: Bool {
    get { super.isSuspended }
    set {
      isStopped.store(newValue, ordering: .releasing)
      super.isSuspended = newValue
      if newValue { pool?.queueWasSuspended() }
    }
  }
}

extension OperationQueue {
  fileprivate var dispatchQoS: DispatchQoS {
    switch qualityOfService {
    case .userInteractive: .userInteractive
    case .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    default: .default
    }
  }
}
