import Foundation

extension ActionOperation {
  /// Calls the block, or ends at once where it was finished or cancelled before.
  func run() {
    switch withState({ $0.life.start() }) {
    case .run:
      didChangeValue(forKey: "isExecuting")
      let (asked, isReturned) = call(subject.pointee.block.take()!, on: .current)
      if isReturned, let outcome = withState({ $0.life.returned(asking: asked) }) { ended(outcome) }
    case .end(let outcome):
      subject.pointee.block = nil
      ended(outcome)
    case .ignore:
      break
    }
  }

  /// Claims it and runs it here for a dispatch, where it may end here.
  func runInline(for dispatch: Dispatch, on thread: ThreadState) -> InlineStep? {
    let isSuspending = if case .suspending? = subject.pointee.block { true } else { false }
    let start = withState { state -> (OperationState.Start?, isClaimed: Bool) in
      guard state.life.claim() else { return (nil, false) }
      guard !state.hasDependencies, !isSuspending else { return (nil, true) }
      let start = state.life.start()
      // One that ends at once is left alone: the dispatch may go before it.
      if case .run = start { state.dispatch = dispatch }
      return (start, true)
    }
    switch start {
    case (.run?, _):
      didChangeValue(forKey: "isExecuting")
      let (asked, _) = call(subject.pointee.block.take()!, on: thread)
      return endInline(asked)
    case (.end(let outcome)?, _):
      subject.pointee.block = nil
      tellEnd()
      return InlineStep(outcome)
    case (_, isClaimed: true):
      return .goesOn(self, isRunning: false)
    default:
      return nil
    }
  }

  /// The block that ran straight has returned: it has ended, or goes on elsewhere.
  @usableFromInline
  func endInline(_ asked: StoreOutcome?) -> InlineStep {
    let end = withState { state -> StoreOutcome? in
      let outcome = state.life.returned(asking: asked)
      if outcome != nil { state.dispatch = nil }
      return outcome
    }
    guard let end else { return .goesOn(self, isRunning: true) }
    tellEnd()
    return InlineStep(end)
  }

  /// Tells those who depend on it that it has ended.
  func tellEnd() {
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
    if withState({ $0.hasDependencies }) {
      stopWatchingAll()
      forgetDependencies()
    }
  }

  /// Calls the block: how it ends where that is said by returning, and whether it has returned.
  private func call(
    _ block: OperationBlock<Model, Action>, on thread: ThreadState
  ) -> (asked: StoreOutcome?, Bool) {
    switch block {
    case .controlled(let block):
      control(block, on: thread)
      return (nil, true)
    case .returning(let block):
      return (outcome { try block(action, store) }, true)
    case .reducing(let reducer):
      let owner = commitOwner
      return (
        outcome {
          try store.commit(for: owner, action: action) { model in
            try reducer.reduce(into: &model, action: action)
          }
        }, true
      )
    case .suspending(let block):
      runTask(block)
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

  /// Calls a block that ends the operation by what it is given.
  @inlinable
  func control(
    _ block: (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void,
    on thread: ThreadState
  ) {
    var running = RunningOperation.make(for: self, on: thread)
    do {
      try block(running, subject.pointee.action, subject.pointee.store)
    } catch {
      // Recorded before the release, which would call it abandoned.
      finish(throwing: error)
    }
    if isUniquelyReferencedForReuse(&running) { running.recycle(on: thread) }
  }

  private func runTask(
    _ block: @escaping @Sendable (Action, Store<Model, Action>) async throws -> Void
  ) {
    let part = withState { $0.part }
    let executor = part?.makeExecutor()
    let context = part?.makeTaskContext(on: executor)
    // Made under the lock, so that a cancellation from inside the block finds the task.
    let cancelled = withState { state -> Task<Void, Never>? in
      let task = Task(executorPreference: executor) {
        await DispatchContext.$inTask.withValue(context) {
          do {
            try await block(self.action, self.store)
            self.returned(.finished)
          } catch {
            self.returned(StoreOutcome(thrown: error))
          }
        }
      }
      state.task = task
      return state.life.isCancelled ? task : nil
    }
    cancelled?.cancel()
  }

  // MARK: The end

  func finish(_ outcome: StoreOutcome) {
    yieldPoint(.finish, store.identifier)
    switch withState({ $0.life.finish(outcome) }) {
    case .end(let outcome):
      ended(outcome)
    case .later:
      break
    case .repeated:
      store.report(
        .finishedTwice,
        "The operation for \(action) was finished twice; the second time as \(outcome), in vain.")
    }
  }

  /// The last one who could have finished it has let go of it.
  @usableFromInline
  func abandon() {
    guard withState({ $0.life.isUnfinished }) else { return }
    let error = DispatchError(
      code: .operationAbandoned,
      message: """
        The operation for \(action) in store "\(store.identifier)" was released without having been \
        finished. Call operation.finish() on every path of its block.
        """,
      storeIdentifiers: [store.identifier])
    let finish = withState { $0.life.finish(.failed(error)) }
    if case .repeated = finish { return }
    store.report(.abandoned, error.message)
    if case .end(let outcome) = finish { ended(outcome) }
  }

  /// On whose behalf it changes its store.
  private var commitOwner: (any CommitOwner)? {
    withState { $0.commitOwner }
  }

  func update<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    yieldPoint(.update, store.identifier)
    let (mayUpdate, owner) = withState { state -> (Bool, (any CommitOwner)?) in
      (state.life.beginUpdate(), state.commitOwner)
    }
    guard mayUpdate else {
      store.report(
        .updateAfterEnd, "An update through the operation for \(action) came after its end.")
      return nil
    }
    defer {
      yieldPoint(.endUpdate, store.identifier)
      returned(nil)
    }
    return try store.commit(for: owner, action: action, body)
  }

  /// The block or an update has returned; an outcome that is given counts unless it was finished before.
  private func returned(_ outcome: StoreOutcome?) {
    if let outcome = withState({ $0.life.returned(asking: outcome) }) { ended(outcome) }
  }

  private func ended(_ outcome: StoreOutcome) {
    let part = withState { state in
      state.task = nil
      return isPlanted(.doubleFinish) ? state.part : state.part.take()
    }
    tellEnd()
    part?.operationEnded(outcome)
  }
}
