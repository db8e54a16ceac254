// A dispatch in its caller's task: its steps, and the wait for its end.
extension Dispatch {
  /// Starts the dispatch in its task, which has acquired its place.
  ///
  /// - Parameter runsHere: Whether it runs before this returns, as it may if it only reduces. A block must not begin before
  ///   the task passes its cancellation on.
  static func start(
    _ dispatch: Dispatch, in task: TaskScheduler, runsHere: Bool, on thread: ThreadState
  ) {
    var started = dispatch
    // A cancelled dispatch ends elsewhere: its position is free.
    if case .continues = start(&started, isInTask: runsHere, on: thread) { return }
    task.release(dispatch)
  }

  /// Runs the dispatch in its turn.
  private static func run(_ dispatch: Dispatch, in task: TaskScheduler, on thread: ThreadState) {
    var started = dispatch
    if case .continues = run(&started, on: thread) { return }
    task.release(dispatch)
  }

  /// Returns the result of a dispatch that has ended, and keeps its record as a spare one.
  private static func end(
    _ dispatch: consuming Dispatch, on thread: ThreadState
  ) -> DispatchResult {
    let result = dispatch.result
    recycle(dispatch, on: thread)
    return result!
  }

  /// Runs the steps of a dispatch in its caller's task, which waits for its turn and for other threads.
  ///
  /// If the dispatch runs on its lane's thread, the task only waits for its end.
  @usableFromInline
  nonisolated(nonsending) static func runToEnd(
    _ dispatch: consuming Dispatch, in task: TaskScheduler
  ) async -> DispatchResult {
    if dispatch.hasEnded, task.detach() { return end(dispatch, on: .current) }
    let wait = dispatch.beginWait()
    let runsInTask = dispatch.details?.scheduler === task
    if !runsInTask {
      if let refused = wait?.endIfRefused(dispatch) { return refused }
      dispatch.whenEnded { task.ended() }
    }
    if runsInTask, task.isElsewhere {
      await runOnNoActor(dispatch, in: task)
    } else {
      await runToEnd(of: dispatch, in: task)
    }
    wait?.end()
    return end(dispatch, on: .current)
  }

  /// Runs the steps of a dispatch outside of the caller's actor, until the task comes to the main actor.
  ///
  /// Otherwise the lane would wait for a busy actor.
  @concurrent
  private static func runOnNoActor(_ dispatch: Dispatch, in task: TaskScheduler) async {
    await runToEnd(of: dispatch, in: task)
  }

  private nonisolated(nonsending) static func runToEnd(
    of dispatch: Dispatch, in task: TaskScheduler
  ) async {
    await withCancellationHandler {
      while let block = await runSteps(of: dispatch, in: task) {
        await withDiscardingTaskGroup { group in
          group.addTask { await block() }
          while let block = await runSteps(of: dispatch, in: task) {
            group.addTask { await block() }
          }
        }
      }
    } onCancel: {
      dispatch.cancelElsewhere(with: task)
    }
  }

  /// Waits for the end of a dispatch that runs outside of the task, even if the task is cancelled.
  @usableFromInline
  nonisolated(nonsending) static func awaitEnd(of dispatch: Dispatch) async -> DispatchResult {
    let wait = dispatch.beginWait()
    if let refused = wait?.endIfRefused(dispatch) { return refused }
    await dispatch.suspendUntilEnd()
    wait?.end()
    return dispatch.result!
  }

  /// Runs steps to the end; returns early with a block that needs a child task, or beside which others continue.
  private nonisolated(nonsending) static func runSteps(
    of dispatch: Dispatch, in task: TaskScheduler
  ) async -> TaskScheduler.Block? {
    while true {
      if dispatch.hasEnded, task.detach() { return nil }
      if task.noticesCancellation(), dispatch.isCancelledWithTask { dispatch.cancel() }
      guard let step = task.next() else {
        await task.wait()
        continue
      }
      switch step {
      case .start where task.isElsewhere:
        await runOnMainActor(dispatch, in: task)
      case .start:
        run(dispatch, in: task, on: .current)
      case .look:
        break
      case .step(let step):
        step()
      case .block(let block):
        // The block's context is bound in the task that runs it. The child tasks of that task must not get a copy.
        guard dispatch.isAlone, !TaskLocalAddress.isCopied else { return block }
        await block()
      }
    }
  }

  /// Starts the dispatch of a task that was elsewhere until its turn, and runs its steps.
  @MainActor
  private static func runOnMainActor(_ dispatch: Dispatch, in task: TaskScheduler) async {
    run(dispatch, in: task, on: .current)
    await runToEnd(of: dispatch, in: task)
  }

  /// Whether the current task, which makes or runs the dispatch, was cancelled, and the dispatch heeds that.
  var isCancelledWithTask: Bool { Task.isCancelled && details?.isDetached != true }

  /// Cancels the dispatch with its task; nothing begins from now on that its blocks dispatch.
  ///
  /// The task may be in a block, and the runtime has locked it. Since cancelling may run code of the program, another
  /// thread does that.
  private func cancelElsewhere(with task: TaskScheduler) {
    let details = makeDetails()
    if details.isDetached { return }
    details.withState { $0.isTaskCancelled = true }
    task.cancelBlocks()
    task.workers?.submit(end: .step { self.cancel() })
  }

  /// The wait of an operation's block that runs a dispatch in its task.
  fileprivate struct BlockWait {
    let wait: WaitGraph.Wait
    let queue: SharedQueue?
    /// The error of a wait that could never end, for a dispatch that had begun before.
    let refusal: DispatchError?

    func end() {
      WaitGraph.end(wait)
      queue?.endWait()
    }

    /// Ends a refused wait for a dispatch that has begun on other threads, and goes on there.
    ///
    /// - Returns: The result of the wait; nil if the wait is not refused.
    func endIfRefused(_ dispatch: Dispatch) -> DispatchResult? {
      guard let refusal else { return nil }
      end()
      return dispatch.result ?? DispatchResult(dispatchID: dispatch.id, error: refusal)
    }
  }

  /// Records the wait of the calling block.
  ///
  /// If that wait could never end, refuses the dispatch, or the wait if the dispatch has begun.
  fileprivate func beginWait() -> BlockWait? {
    guard let context = DispatchContext.ofTask else { return nil }
    let wait: WaitGraph.Wait
    var refusal: DispatchError?
    do {
      wait = try WaitGraph.begin(context, for: .own(self))
    } catch {
      let (refused, drop) = WaitGraph.begin(context, onRefused: self) { decideDrop(with: error) }
      wait = refused
      if let drop {
        cancel(drop)
      } else if WaitGraph.ring(around: self, in: context) != nil {
        // The dispatch has begun, and no other thread has ended it: an ended one is in no ring.
        refusal = error
      }
    }
    // A thread that blocks until this task resumes may wait for that queue.
    let queue = schedulerForWaits.sharedQueue
    queue?.beginWait()
    return BlockWait(wait: wait, queue: queue, refusal: refusal)
  }
}
