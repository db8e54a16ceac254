import DispatchStore
import Foundation

/// Answers with reductions.
class FuzzReducer: Reducer<FuzzModel, FuzzAction> {
  fileprivate let run: FuzzRun
  fileprivate let place: Int

  init(_ run: FuzzRun, _ place: Int) {
    (self.run, self.place) = (run, place)
  }

  override func reduce(into model: inout FuzzModel, action: FuzzAction) {
    let answer = run.answer(action, place)
    run.log.note(.began, action.number, store: place)
    if case .noChange = answer.kind {
      unchanged()
    } else {
      model.count += 1
      run.log.note(.committed, action.number, store: place, version: model.count)
    }
    try? run.run(answer.body)
    run.log.note(.ended, action.number, store: place)
  }
}

/// Answers with applications, too.
class FuzzApplyingReducer: FuzzReducer {
  override func apply(_ action: FuzzAction, to store: FuzzStore) throws {
    let answer = run.answer(action, place)
    guard case .application = answer.kind else { return try super.apply(action, to: store) }
    try run.runBlock(answer.body, action, store, place)
  }
}

/// Answers with operations, too.
final class FuzzOperatingReducer: FuzzApplyingReducer {
  override func operation(
    for action: FuzzAction, in store: FuzzStore
  ) -> ActionOperation<FuzzModel, FuzzAction> {
    let (run, place, answer) = (run, place, run.answer(action, place))
    let operation: ActionOperation<FuzzModel, FuzzAction>
    switch answer.kind {
    case .reduction, .noChange, .application:
      return super.operation(for: action, in: store)
    case .block:
      operation = ActionOperation(action: action, store: store) { action, store in
        try run.runBlock(answer.body, action, store, place)
      }
    case .async:
      operation = ActionOperation(action: action, store: store) { action, store async throws in
        try await run.runAsyncBlock(answer.body, action, store, place)
      }
    case .callback(let commits, let end, let next):
      operation = ActionOperation(action: action, store: store) { running, action, store in
        let mayFail = try run.runBlock(answer.body, action, store, place)
        let end: FuzzProgram.Answer.CallbackEnd = mayFail || end != .fail ? end : .finish
        if end == .finishInside { running.finish() }
        let left = Shared(end == .finishInside ? nil : running)
        run.startThread {
          run.callBack(left, commits, end, place)
          try? run.run(next)
        }
      }
    }
    run.addDependencies(to: operation, answer)
    run.present.with { $0.operations[action.number, default: []].append(operation) }
    return operation
  }
}

extension FuzzRun {
  /// A block of a store begins: in each attempt anew.
  private func owner(_ action: FuzzAction, _ store: FuzzStore, _ place: Int) -> FuzzOwner {
    let key = FuzzCheck.Part.Key(action: action.number, store: place)
    let attempt = present.with { present in
      present.attempts[key, default: 0] += 1
      return present.attempts[key]!
    }
    var owner = FuzzOwner(action: action.number, store: store, place: place)
    let controls = program.dispatches[program.actions[action.number].dispatch].controls
    for case .retry(_, let failures) in controls { owner.mayFail = attempt <= failures }
    return owner
  }

  /// - Returns: Whether the attempt may fail.
  @discardableResult
  fileprivate func runBlock(
    _ body: FuzzProgram.Body, _ action: FuzzAction, _ store: FuzzStore, _ place: Int
  ) throws -> Bool {
    log.note(.began, action.number, store: place)
    do {
      let owner = owner(action, store, place)
      try run(body, for: owner)
      log.note(.ended, action.number, store: place)
      return owner.mayFail
    } catch {
      log.note(.threw, action.number, store: place)
      throw error
    }
  }

  fileprivate func runAsyncBlock(
    _ body: FuzzProgram.Body, _ action: FuzzAction, _ store: FuzzStore, _ place: Int
  ) async throws {
    log.note(.began, action.number, store: place)
    do {
      try await runAsync(body, for: owner(action, store, place))
      log.note(.ended, action.number, store: place)
    } catch {
      log.note(.threw, action.number, store: place)
      throw error
    }
  }

  /// - Parameter left: The operation that the block has left; released here, so that one that is dropped ends.
  fileprivate func callBack(
    _ left: Shared<RunningOperation<FuzzModel, FuzzAction>?>, _ commits: Int,
    _ end: FuzzProgram.Answer.CallbackEnd, _ place: Int
  ) {
    guard let running = left.with({ $0.take() }) else { return }
    let action = running.operation.action.number
    for _ in 0..<commits {
      running.updateModel { model in
        model.count += 1
        log.note(.committed, action, store: place, version: model.count)
      }
    }
    switch end {
    case .finish: running.finish()
    case .fail: running.finish(throwing: FuzzError())
    case .drop, .finishInside: break
    }
  }

  fileprivate func addDependencies(
    to operation: Foundation.Operation, _ answer: FuzzProgram.Answer
  ) {
    if answer.dependsOnForeign {
      let foreign = BlockOperation {}
      operation.addDependency(foreign)
      startThread { foreign.start() }
    }
    for action in answer.dependsOn {
      for other in present.now.operations[action] ?? [] { operation.addDependency(other) }
    }
  }
}
