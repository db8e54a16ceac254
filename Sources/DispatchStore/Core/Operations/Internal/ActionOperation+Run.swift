import Foundation

extension ActionOperation: StoreOperation {
  /// Claims the operation for a dispatch; returns false if it was claimed or started before, or is in a queue.
  func claim() -> Bool {
    // A queue to which it is added after this finds that it was claimed.
    withState { $0.life.claim() } && !isInQueue
  }

  @usableFromInline
  func enter(_ storeRun: StoreRun) -> StoreOutcome? {
    // If it was added to a queue before it was claimed, the queue may have run it.
    if let outcome = withState({ $0.join(storeRun) }) { return outcome }
    storeRun.started(self)
    do {
      guard try isReady(for: storeRun, orElse: { storeRun.becameReady() }) else { return nil }
      // Dependencies may have finished while the reducer ran. That time does not belong to the operation.
      if storeRun.startedAt != nil, withState({ $0.hasDependencies }) {
        storeRun.startedAt = storeRun.now
      }
    } catch {
      failBeforeStart(error)
    }
    run()
    return nil
  }

  @usableFromInline
  func run() {
    switch withState({ $0.life.start() }) {
    case .run:
      notifyChange(of: "isExecuting")
      let (requested, hasReturned) = callBlock()
      if hasReturned { returned(requested) }
    case .end(let outcome):
      block = nil
      ended(outcome)
    case .ignore:
      break
    }
  }

  /// Calls the block.
  ///
  /// - Returns: The outcome, if the block's return decides it, and whether the block has returned.
  private func callBlock() -> (requested: StoreOutcome?, hasReturned: Bool) {
    let block = block.unsafelyUnwrapped
    self.block = nil
    switch block {
    case .controlled(let block):
      control(block)
      return (nil, true)
    case .returning(let block):
      do {
        try block(action, store)
        return (.finished, true)
      } catch {
        return (StoreOutcome(thrown: error), true)
      }
    case .suspending(let isolation, let block):
      runTask(block, isolation)
      return (nil, false)
    }
  }

  /// Calls a block that ends the operation through its `RunningOperation`.
  private func control(
    _ block: (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void
  ) {
    // Until the error is noted, since the last release ends the operation as abandoned.
    withExtendedLifetime(RunningOperation(self)) { running in
      do {
        try block(running, action, store)
      } catch {
        finish(throwing: error)
      }
    }
  }

  private func runTask(
    _ block: @escaping OperationBlock<Model, Action>.Suspending, _ isolation: (any Actor)?
  ) {
    let storeRun = withState(\.storeRun)
    if isolation === MainActor.shared, storeRun?.holdsUpMainQueue == true {
      return returned(.failed(store.wouldHoldUpMainActor(action)))
    }
    let context = storeRun?.makeTaskContext()
    if let task = storeRun?.callersTask {
      withState { $0.blockNeedsSteps = true }
      // Jobs on the main queue need an executor; others are the task's own.
      let executor = task.needsMainQueue ? storeRun?.makeExecutor() : nil
      executor?.context = context
      // A task of the block's own has these from the step that makes it.
      let bound = storeRun?.dispatch.bound
      return task.run {
        self.withState { $0.blockNeedsSteps = false }
        guard let executor else { return await self.run(block, in: context, binding: bound) }
        await withTaskExecutorPreference(executor) {
          await self.run(block, in: context, binding: bound)
        }
      }
    }
    if storeRun?.runsBlocksInSteps == true { withState { $0.blockNeedsSteps = true } }
    let executor = storeRun?.makeExecutor() ?? OperationExecutor(of: self, in: .current)
    executor.context = context
    // Made under the lock, so that `cancel()`, called from inside the block, finds the task.
    let cancelled = withState { state -> Task<Void, Never>? in
      let make = { Task(executorPreference: executor) { await self.run(block, in: context) } }
      let task = storeRun?.makeBlockTask(make) ?? make()
      state.task = task
      return state.life.isCancelled ? task : nil
    }
    cancelled?.cancel()
  }

  @concurrent
  private func run(
    _ block: @escaping OperationBlock<Model, Action>.Suspending, in context: TaskContext?,
    binding bound: CapturedTaskLocal?
  ) async {
    guard let bound else { return await run(block, in: context) }
    await bound.bindInTask { await self.run(block, in: context) }
  }

  @concurrent
  private func run(
    _ block: @escaping OperationBlock<Model, Action>.Suspending, in context: TaskContext?
  ) async {
    await DispatchContext.$inTask.withValue(context) {
      context?.begin()
      defer { context?.end() }
      do {
        try await block(action, store)
        returned(.finished)
      } catch {
        returned(StoreOutcome(thrown: error))
      }
    }
  }
}
