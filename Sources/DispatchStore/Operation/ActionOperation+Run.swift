import Foundation

extension ActionOperation {
  /// Calls the block, or ends at once where it was finished or cancelled before.
  func run() {
    let (start, block) = withState { state in
      (state.life.start(), state.block.take())
    }
    switch (start, block) {
    case (.run, let block?):
      didChangeValue(forKey: "isExecuting")
      let (asked, isReturned) = call(block, on: .current)
      if isReturned, let outcome = withState({ $0.life.returned(asking: asked) }) { ended(outcome) }
    case (.end(let outcome), _):
      ended(outcome)
    case (.ignore, _), (.run, nil):
      break
    }
  }

  /// What came of running it for a dispatch that goes straight through its stores.
  enum StraightRun {
    case ended(StoreOutcome)
    /// It was claimed, and waits for others or its end.
    case goesOn(isRunning: Bool)
    /// It was started or returned before.
    case unusable
  }

  /// Claims it and runs it here, where it may end here. Who depends on it is not told of that end.
  func runStraight(
    for dispatch: Dispatch, isShared: Bool, on thread: ThreadState
  ) -> StraightRun {
    let (run, block) = withState { state -> (StraightRun?, Block?) in
      guard state.life.claim() else { return (.unusable, nil) }
      guard state.mayEndAtOnce else { return (.goesOn(isRunning: false), nil) }
      switch state.life.start() {
      case .end(let outcome): return (.ended(outcome), state.block.take())
      case .ignore: return (.unusable, nil)
      case .run:
        state.dispatch = dispatch
        return (nil, state.block.take())
      }
    }
    if let run { return run }
    if isShared { didChangeValue(forKey: "isExecuting") }
    let (asked, _) = call(block.unsafelyUnwrapped, on: thread)
    return withState { state in
      guard let outcome = state.life.returned(asking: asked) else {
        return .goesOn(isRunning: true)
      }
      state.dispatch = nil
      return .ended(outcome)
    }
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
  private func call(_ block: Block, on thread: ThreadState) -> (asked: StoreOutcome?, Bool) {
    switch block {
    case .controlled(let block):
      control(block, on: thread)
      return (nil, true)
    case .returning(let block):
      return (outcome { try block(action, store) }, true)
    case .reducing:
      let owner = commitOwner
      return (
        outcome {
          try store.commit(for: owner, action: action) { model in
            try store.reducer.reduce(into: &model, action: action)
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

  private func control(
    _ block: (RunningOperation<Model, Action>, Action, Store<Model, Action>) throws -> Void,
    on thread: ThreadState
  ) {
    var running = RunningOperation.make(for: self, on: thread)
    do {
      try block(running, action, store)
    } catch {
      // Recorded before the release, which would call it abandoned.
      finish(throwing: error)
    }
    if isKnownUniquelyReferenced(&running) { running.recycle(on: thread) }
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
    withState { state -> (any CommitOwner)? in state.part ?? state.dispatch }
  }

  func update<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    let (mayUpdate, owner) = withState { state -> (Bool, (any CommitOwner)?) in
      (state.life.beginUpdate(), state.part ?? state.dispatch)
    }
    guard mayUpdate else {
      store.report(
        .updateAfterEnd, "An update through the operation for \(action) came after its end.")
      return nil
    }
    defer { returned(nil) }
    return try store.commit(for: owner, action: action, body)
  }

  /// The block or an update has returned; an outcome that is given counts unless it was finished before.
  private func returned(_ outcome: StoreOutcome?) {
    if let outcome = withState({ $0.life.returned(asking: outcome) }) { ended(outcome) }
  }

  private func ended(_ outcome: StoreOutcome) {
    let part = withState { state in
      state.task = nil
      return state.part.take()
    }
    tellEnd()
    part?.operationEnded(outcome)
  }
}
