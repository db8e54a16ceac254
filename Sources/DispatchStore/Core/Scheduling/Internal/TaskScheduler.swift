/// The caller's task of a structured dispatch: runs its steps, and awaits its `async` blocks.
///
/// A task takes its turn at a lane, or at the concurrent queue, as any dispatch does. In that turn the task starts,
/// rather than its action, and has the lane from then on. If a dispatch only reduces and finds its lane busy, it runs
/// on the lane's thread instead: the task only waits for its end here.
@usableFromInline
final class TaskScheduler: Scheduler, @unchecked Sendable {
  // because `state` is locked, and the task alone has access to `wasCancelled`
  /// Blocks that do not run in the caller's task.
  private struct Blocks {
    /// Their tasks by store index.
    var tasks: [Int: Task<Void, Never>] = [:]
    /// Whether the caller's task was cancelled while such blocks could run.
    var areCancelled = false
  }

  private let ofDispatcher: Dispatcher
  /// Whether the task comes to the main actor only once its dispatch has its turn.
  let isElsewhere: Bool
  private let state = Locked(State())
  /// Whether the task has seen that it is cancelled.
  private var wasCancelled = false

  /// The task's next action.
  enum Step {
    /// Start the action, since the dispatch has its turn.
    case start
    /// Look at the dispatch and at cancellation, as before each step: one of them has ended the wait.
    case look
    case step(@Sendable () -> Void)
    /// Await an `async` block.
    case block(Block)
  }

  typealias Block = nonisolated(nonsending) @Sendable () async -> Void

  private struct State {
    /// The lane or the concurrent queue; nil only before it is set, and in the end.
    ///
    /// Guarded by the lock, since the task moves to its lane while searches for deadlocks and diagnoses read it.
    var place: Scheduler?
    var steps = FIFO<Step>()
    /// The task's continuation, while it has no step.
    var waiter: UnsafeContinuation<Void, Never>?
    /// The caller has gone on: later steps run on the threads that they come from.
    var isDetached = false
    /// Behind a lock of its own, because a task that is made asks this scheduler for a thread at once; nil for most.
    var blocks: Locked<Blocks>?
  }

  init(at place: Scheduler, of dispatcher: Dispatcher, isElsewhere: Bool = false) {
    (ofDispatcher, self.isElsewhere) = (dispatcher, isElsewhere)
    super.init()
    move(to: place)
  }

  deinit {
    // A retired named lane is reused if nothing else refers to it.
    if let last = state.withLock({ $0.place.take() }) { ofDispatcher.recycle(last) }
  }

  /// Moves to another lane, since a named lane has retired after it was looked up.
  func move(to place: Scheduler) {
    // The former place is released outside of the lock.
    state.withLockReleasing { state in
      defer { state.place = place }
      return state.place.take()
    }
  }

  // MARK: The task

  /// Takes the next step; nil if there is none yet.
  func next() -> Step? {
    yieldPoint(.takeStep)
    return state.withLock { $0.steps.popFirst() }
  }

  /// Whether the task was cancelled since the last call; the task cancels its dispatch itself.
  func noticesCancellation() -> Bool {
    guard !wasCancelled, Task.isCancelled else { return false }
    wasCancelled = true
    return true
  }

  /// Waits for a step; a cancellation that the task has not seen yet counts as one.
  nonisolated(nonsending) func wait() async {
    let wait = TaskWait.begin()
    if wasCancelled {
      await waitForStep()
    } else {
      await withCancellationHandler(waitForStep) { appendInPlace(.look) }
    }
    wait?.end()
  }

  private nonisolated(nonsending) func waitForStep() async {
    await withUnsafeContinuation { waiter in
      let hasStep = state.withLock { state in
        if state.steps.isEmpty { state.waiter = waiter }
        return !state.steps.isEmpty
      }
      if hasStep { waiter.resume() }
    }
  }

  /// Whether the task may go on, now that its dispatch has ended: no step is left.
  func detach() -> Bool {
    yieldPoint(.detach)
    return state.withLock { state in
      state.isDetached = state.steps.isEmpty
      return state.isDetached
    }
  }

  /// Resumes the task, since its dispatch has its turn.
  func start() { append(.start) }

  /// Resumes the task, since its dispatch has ended on its lane's thread.
  func ended() { append(.look) }

  /// Runs an `async` block of the dispatch.
  func run(_ block: @escaping Block) { append(.block(block)) }

  private func append(_ step: Step) {
    yieldPoint(.resume, description)
    appendInPlace(step)
  }

  private func appendInPlace(_ step: Step) {
    let (waiter, isDetached) = state.withLock { state in
      if !state.isDetached { state.steps.append(step) }
      return (state.waiter.take(), state.isDetached)
    }
    if isDetached, case .step(let step) = step { step() }
    waiter?.resume()
  }

  // MARK: Blocks in tasks of their own

  private var blocks: Locked<Blocks> {
    state.withLock { $0.blocks.madeIfNil(Locked(Blocks())) }
  }

  /// Makes a block's own task, which is cancelled together with the caller's task.
  ///
  /// The task is made under the lock, so that a cancellation finds it once the block has begun.
  func adopt(at index: Int, _ make: () -> Task<Void, Never>) -> Task<Void, Never> {
    let (blockTask, isCancelled) = blocks.withLock { blocks in
      let blockTask = make()
      blocks.tasks[index] = blockTask
      return (blockTask, blocks.areCancelled)
    }
    if isCancelled { blockTask.cancel() }
    return blockTask
  }

  /// Cancels the blocks of the caller's task, which see this at once rather than with the task's next step.
  func cancelBlocks() {
    let tasks = blocks.withLock { blocks in
      blocks.areCancelled = true
      return blocks.tasks
    }
    // In the order of the stores, which a simulation repeats.
    for (_, task) in tasks.sorted(by: { $0.key < $1.key }) { task.cancel() }
  }

  // MARK: Scheduler

  override var isTask: Bool { true }
  override var asTask: TaskScheduler? { self }
  override var runsBlocksInSteps: Bool { true }
  override var place: Scheduler { state.withLock(\.place).unsafelyUnwrapped }
  override var dispatcher: Dispatcher? { ofDispatcher }
  override var inner: Scheduler? { place }
  override var description: String { "a task, in \(place.description)" }

  override func expectPriority() {
    place.expectPriority()
  }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    append(.step(step))
  }

  override func unpark(_ dispatch: Dispatch, for dispatcher: Dispatcher?) {
    place.unpark(dispatch, for: ofDispatcher)
  }

  override func release(_ dispatch: Dispatch) {
    place.release(dispatch, ofTaskOf: ofDispatcher)
  }

  /// Runs a job of a block on the main queue, or of a block that has a task to itself.
  ///
  /// Inside a block of another dispatch, the job runs where that block's jobs run. All threads of the cooperative
  /// pool may be blocked in `.sync` dispatches, whose blocks send others.
  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    let world = ofDispatcher.pool.world
    if needsMainQueue {
      MainQueue.run(in: world) { executor.run(job) }
    } else if world != nil {
      executor.runAnywhere(job)
    } else if let around = executor.context?.jobScheduler {
      around.run(job, on: executor)
    } else {
      globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
  }
}
