import Foundation

/// The caller's thread of a `.sync` dispatch: runs its steps, and the jobs of its `async` blocks.
final class SyncLoop: Scheduler, @unchecked Sendable {
  // because `condition` guards what changes
  private let condition = NSCondition()
  private var steps = FIFO<@Sendable () -> Void>()
  /// Whether the loop's thread belongs to the cooperative pool.
  let isOnTaskThread: Bool
  /// Whether the caller has left: later steps run on the threads that they come from.
  private var isDetached = false
  // Weak, since a handle that is kept keeps the loop.
  private weak let ofDispatcher: Dispatcher?

  init(on thread: ThreadState, of dispatcher: Dispatcher?) {
    isOnTaskThread = thread.isTaskThread
    ofDispatcher = dispatcher
  }

  override var dispatcher: Dispatcher? { ofDispatcher }

  /// Runs a dispatch to its end.
  ///
  /// On a notifier's thread, stops when only the delivery of its commits by others is left.
  func run(_ begun: Dispatch, on thread: ThreadState) {
    var dispatch = begun
    _ = Dispatch.start(&dispatch, on: thread)
    runToEnd(of: dispatch, on: thread)
  }

  /// Runs the steps of a dispatch that was started.
  func runToEnd(of dispatch: Dispatch, on thread: ThreadState) {
    while !detach(from: dispatch, on: thread) {
      next(of: dispatch, on: thread)()
    }
  }

  /// Runs steps of a dispatch that has not started, as long as a condition holds.
  func run(_ dispatch: Dispatch, on thread: ThreadState, while condition: () -> Bool) {
    while condition() { next(of: dispatch, on: thread)() }
  }

  private func detach(from dispatch: Dispatch, on thread: ThreadState) -> Bool {
    yieldPoint(.detach)
    let mayLeaveDelivery = !thread.turns.isEmpty
    guard dispatch.result != nil || mayLeaveDelivery && dispatch.onlyDeliveryIsLeft else {
      return false
    }
    condition.lock()
    defer { condition.unlock() }
    isDetached = steps.isEmpty
    return isDetached
  }

  private func next(
    of dispatch: Dispatch, on thread: ThreadState
  ) -> @Sendable () -> Void {
    yieldPoint(.takeStep, on: thread)
    if let step = pop(blocks: false) { return step }
    let awaited = dispatch.dispatchesBefore.compactMap(\.schedulerForWaits.sharedQueue)
    for queue in awaited { queue.beginWait() }
    let wait = BlockingRegion(on: thread, for: dispatch.details?.dispatcher?.pool.shared)
    defer {
      wait.end()
      for queue in awaited { queue.endWait() }
    }
    thread.simulated?.wait(for: "the end of its `.sync` dispatch") {
      self.condition.withLock { !self.steps.isEmpty }
    }
    return pop(blocks: true)!
  }

  private func pop(blocks: Bool) -> (@Sendable () -> Void)? {
    condition.lock()
    defer { condition.unlock() }
    while blocks, steps.isEmpty { condition.wait() }
    return steps.popFirst()
  }

  // MARK: Scheduler

  override var runsBlocksInSteps: Bool { true }
  override var description: String { "the caller's thread" }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    if !append(step) { step() }
  }

  /// Adds a step; returns false if the caller has left.
  private func append(_ step: @escaping @Sendable () -> Void) -> Bool {
    yieldPoint(.resume, description)
    condition.lock()
    defer { condition.unlock() }
    if isDetached { return false }
    steps.append(step)
    condition.signal()
    return true
  }

  override func unpark(_ dispatch: Dispatch, for dispatcher: Dispatcher?) {
    resume {
      var dispatch = dispatch
      _ = Dispatch.start(&dispatch, on: .current)
    }
  }

  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    if !append({ executor.run(job) }) { executor.runAnywhere(job) }
  }
}

/// The scheduler of dispatches that have no other: they run inline on the caller's thread, which takes no steps.
final class CallerThread: Scheduler, @unchecked Sendable {
  // because it stores nothing
  static let any = CallerThread()

  override var runsBlocksInSteps: Bool { true }
  override var description: String { "the caller's thread" }
}
