import Foundation

extension ActionOperation: StoreOperation {
  @inline(__always)
  func withState<Result>(_ body: (inout OperationCore.State) -> Result) -> Result {
    core.withState(body)
  }

  /// Claims the operation for a dispatch; returns false if it was claimed or started before, or is in a queue.
  func claim() -> Bool {
    // A queue to which it is added after this finds that it was claimed.
    withState { $0.life.claim() } && !isInQueue
  }

  @usableFromInline
  func join(_ storeRun: StoreRun) -> StoreOutcome? {
    withState { state in
      state.dispatch = nil
      if let outcome = state.life.outcome { return outcome }
      state.storeRun = storeRun
      state.callSite = storeRun.dispatch.callSite
      return nil
    }
  }

  @usableFromInline
  func enter(_ storeRun: StoreRun) -> StoreOutcome? {
    // If it was added to a queue before it was claimed, the queue may have run it.
    if let outcome = join(storeRun) { return outcome }
    storeRun.started(self)
    do {
      guard try isReady(for: storeRun, orElse: { storeRun.becameReady() }) else { return nil }
      // Dependencies may have finished while the reducer ran. That time does not belong to the operation.
      if storeRun.startedAt != nil, withState({ $0.hasDependencies }) {
        storeRun.startedAt = storeRun.now
      }
    } catch {
      // The start then fails the operation, without its block.
      withState { _ = $0.life.finish(.failed(error)) }
    }
    storeRun.run()
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
      return (outcome { try block(action, store) }, true)
    case .reducing(let reducer):
      let (owner, action) = (withState(\.commitOwner), self.action)
      return (
        outcome {
          try store.commit(for: owner, action: action, by: reducer) {
            try reducer.reduce(into: &$0, action: action)
          }
        }, true
      )
    case .suspending(let block):
      runTask(block, block.isolation)
      return (nil, false)
    case .replying(let isolation, let block):
      runTask(block, isolation)
      return (nil, false)
    }
  }

  private func outcome(of block: () throws -> Void) -> StoreOutcome {
    do {
      try block()
      return .finished
    } catch {
      return StoreOutcome(thrown: error)
    }
  }

  /// Calls a block that ends the operation through its `RunningOperation`.
  @inlinable
  func control(
    _ block: (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void
  ) {
    // Until the error is noted, since the last release ends the operation as abandoned.
    withExtendedLifetime(RunningOperation(self)) { running in
      do {
        try block(running, actionAddress.pointee, presentStore.unsafelyUnwrapped)
      } catch {
        finish(throwing: error)
      }
    }
  }

  private func runTask(
    _ block:
      @escaping @isolated(any) @Sendable (Action, Store<Model, Action>) async throws -> Void,
    _ isolation: (any Actor)?
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
    _ block:
      @escaping @isolated(any) @Sendable (Action, Store<Model, Action>) async throws -> Void,
    in context: TaskContext?, binding bound: CapturedTaskLocal?
  ) async {
    guard let bound else { return await run(block, in: context) }
    await bound.bindInTask { await self.run(block, in: context) }
  }

  @concurrent
  private func run(
    _ block:
      @escaping @isolated(any) @Sendable (Action, Store<Model, Action>) async throws -> Void,
    in context: TaskContext?
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
