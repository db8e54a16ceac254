/// The caller's task of a structured dispatch: runs its steps, and awaits its `async` blocks.
///
/// It takes its turn at a lane, or at the concurrent queue, as any dispatch does: what starts there is not its
/// action, but the task, which has the lane from then on.
final class TaskScheduler: Scheduler, @unchecked Sendable {
  // because `state` is locked, and `turns` changes only before other threads know the dispatch
  /// The lane or the concurrent queue.
  private var turns: Scheduler
  private let ofDispatcher: Dispatcher
  private let state = Locked(State())

  /// What the task does next.
  enum Step {
    /// Start the action: the dispatch has its turn.
    case start
    case step(@Sendable () -> Void)
    /// Await an `async` block.
    case block(TaskBlock)
  }

  private struct State {
    var steps = FIFO<Step>()
    /// The task, where it has no step.
    var waiter: UnsafeContinuation<Void, Never>?
    /// The caller has gone on: later steps run on the threads that they come from.
    var isDetached = false
  }

  init(_ place: Scheduler, of dispatcher: Dispatcher) {
    turns = place
    ofDispatcher = dispatcher
  }

  /// Takes another lane: a named one has retired since it was looked up.
  func move(to place: Scheduler) {
    turns = place
  }

  // MARK: The task

  /// The next step, once there is one.
  nonisolated(nonsending) func next() async -> Step {
    while true {
      yieldPoint(.takeStep)
      if let step = state.withLock({ $0.steps.popFirst() }) { return step }
      let wait = TaskWait.begin()
      await withUnsafeContinuation { waiter in
        let hasStep = state.withLock { state in
          if state.steps.isEmpty { state.waiter = waiter }
          return !state.steps.isEmpty
        }
        if hasStep { waiter.resume() }
      }
      wait?.end()
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

  /// The dispatch has its turn.
  func start() {
    append(.start)
  }

  func run(_ block: TaskBlock) {
    append(.block(block))
  }

  /// The task was cancelled: it cancels the dispatch itself, as its next step.
  ///
  /// The runtime calls this while it has locked the task, whose blocks see its cancellation without that.
  func taskWasCancelled(_ dispatch: Dispatch) {
    appendInPlace(.step { dispatch.cancel() })
  }

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

  // MARK: Scheduler

  override var isTask: Bool { true }
  override var runsBlocksInSteps: Bool { true }
  override var place: Scheduler { turns }
  override var dispatcher: Dispatcher? { ofDispatcher }
  override var workers: ConcurrentPool? { place.workers }
  override var needsMainQueue: Bool { place.needsMainQueue }
  override var sharedQueue: SharedQueue? { place.sharedQueue }
  override var isSuspended: Bool { place.isSuspended }
  override var description: String { "a task, in \(place.description)" }

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    place.schedule(dispatch, for: dispatcher)
  }

  override func expectPriority() {
    place.expectPriority()
  }

  override func resume(_ step: @escaping @Sendable () -> Void) {
    append(.step(step))
  }

  override func resumeStart(_ step: @escaping @Sendable () -> Void) {
    if needsMainQueue { return resume(step) }
    ofDispatcher.pool.resumeStart { self.resume(step) }
  }

  override func unpark(_ dispatch: Dispatch) {
    place.unpark(dispatch)
  }

  override func release(_ dispatch: Dispatch) {
    place.release(dispatch, ofTaskOf: ofDispatcher)
  }

  override func noteSkipped() {
    place.noteSkipped()
  }

  /// Jobs of blocks stay on the system's threads for tasks; the executor only says whose they are.
  override func run(_ job: UnownedJob, on executor: OperationExecutor) {
    let world = ofDispatcher.pool.world
    if needsMainQueue {
      MainQueue.run(in: world) { executor.run(job) }
    } else if world != nil {
      executor.runAnywhere(job)
    } else if executor.beginsHere {
      executor.beginsHere = false
      executor.run(job)
    } else {
      globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
  }

  override func noteHeldBack(_ dispatch: Dispatch, by before: [Dispatch], isGated: Bool) {
    place.noteHeldBack(dispatch, by: before, isGated: isGated)
  }

  override func precedence(of dispatch: Dispatch) -> LanePrecedence {
    place.precedence(of: dispatch)
  }

  override func heldBack(before dispatch: Dispatch) -> [Dispatch] {
    place.heldBack(before: dispatch)
  }

  override func hasTask(before dispatch: Dispatch) -> Bool {
    place.hasTask(before: dispatch)
  }

  override var hasWaitingDispatches: Bool { place.hasWaitingDispatches }
}

/// An `async` block of a dispatch that runs in its caller's task.
struct TaskBlock: Sendable {
  let body: nonisolated(nonsending) @Sendable () async -> Void
  /// Whether nothing else of the dispatch goes on meanwhile, so that the task itself may run it.
  let isAlone: @Sendable () -> Bool
}
