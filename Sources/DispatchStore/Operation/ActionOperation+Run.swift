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
      call(block)
    case (.end(let outcome), _):
      ended(outcome)
    case (.ignore, _), (.run, nil):
      break
    }
  }

  private func call(_ block: Block) {
    switch block {
    case .controlled(let block):
      // The token lives until the block's error was recorded, so that its release can't hide that.
      let running = RunningOperation(self)
      do {
        try block(running, action, store)
      } catch {
        finish(throwing: error)
      }
      withExtendedLifetime(running) { returned() }
    case .returning(let block):
      settle { try block(action, store) }
    case .reducing:
      settle {
        try store.commit(for: nil, action: action) { model in
          try store.reducer.reduce(into: &model, action: action)
        }
      }
    case .suspending(let block):
      runTask(block)
    }
  }

  private func settle(_ block: () throws -> Void) {
    do {
      try block()
      returned(.finished)
    } catch {
      returned(StoreOutcome(thrown: error))
    }
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
    let error = DispatchError(
      code: .operationAbandoned,
      message: """
        The operation for \(action) in store "\(store.identifier)" was released without having been \
        finished. Call operation.finish() on every path of its block.
        """,
      storeIdentifiers: [store.identifier])
    guard case .end(let outcome) = withState({ $0.life.finish(.failed(error)) }) else {
      return
    }
    store.report(.abandoned, error.message)
    ended(outcome)
  }

  func update<Value, Failure: Error>(
    _ body: (inout Model) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    let (mayUpdate, part) = withState { ($0.life.beginUpdate(), $0.part) }
    guard mayUpdate else {
      store.report(
        .updateAfterEnd, "An update through the operation for \(action) came after its end.")
      return nil
    }
    defer { returned() }
    return try store.commit(for: part, action: action, body)
  }

  /// The block has returned, which says how the operation ends; an earlier finish counts first.
  private func returned(_ outcome: StoreOutcome) {
    _ = withState { $0.life.finish(outcome) }
    returned()
  }

  private func returned() {
    if let outcome = withState({ $0.life.returned() }) { ended(outcome) }
  }

  private func ended(_ outcome: StoreOutcome) {
    let (part, hasDependencies) = withState { state in
      state.task = nil
      return (state.part.take(), state.hasDependencies)
    }
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
    if hasDependencies {
      stopWatchingAll()
      forgetDependencies()
    }
    part?.operationEnded(outcome)
  }
}
