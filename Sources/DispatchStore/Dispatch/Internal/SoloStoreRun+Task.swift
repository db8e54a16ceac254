import Foundation

/// Its block, where the task of the dispatch's caller runs that itself.
extension SoloStoreRun {
  /// Its operation is to be run by the task, before others know it.
  func leave(_ operation: AnyObject, to task: TaskScheduler) {
    startedAt = session?.startedAt
    state.withOnlyReference { state in
      state.run.operation = unsafeDowncast(operation, to: Operation.self)
      _ = state.run.startReturned()
    }
    task.storeRun = self
  }

  /// Runs the block of its operation in the current task.
  ///
  /// - Returns: What follows, for the task to take up; another step may do that.
  nonisolated(nonsending) func runBlock() async -> StoreRunState.Step {
    let operation = state.withLock { state in
      state.isAwaited = true
      return state.run.operation
    }
    if let operation {
      guard let run = entry.blockCall else { fatalError("An operation keeps its store.") }
      await run(operation, self)
    }
    return state.withLock { state in
      state.isAwaited = false
      return state.next.take() ?? .wait
    }
  }

  /// Calls the block, compiled for the store's types.
  @usableFromInline
  @concurrent
  func runBlock(of operation: OperationCore, _ body: () async throws -> Void) async {
    let context = takeContext()
    await DispatchContext.$inTask.withValue(context) {
      context.begin()
      var outcome = StoreOutcome.finished
      do { try await body() } catch { outcome = StoreOutcome(thrown: error) }
      if let ended = operation.endBlock(outcome) { operationEnded(ended) }
      context.end()
    }
    keep(context)
  }

  private func takeContext() -> TaskContext {
    guard let context = spareContext.take() else { return TaskContext(inTaskOf: self) }
    context.begin(self)
    return context
  }

  private func keep(_ context: consuming TaskContext) {
    guard isUniquelyReferencedForReuse(&context) else { return }
    context.clear()
    spareContext = context
  }
}
