import DispatchStore

// How dispatches and their stores ended.
extension FuzzCheck {
  func checkResults() {
    for (number, handle) in run.present.now.handles.sorted(by: { $0.key < $1.key }) {
      guard let result = handle.resultIfEnded else {
        fail("#\(number) has no result")
        continue
      }
      let plan = program.dispatches[number]
      // A joined dispatch has the results of the one that it has joined.
      if isJoined(number) { continue }
      if plan.isSequence {
        for (action, step) in zip(plan.actions, result.steps) { check(step, action, number) }
      } else {
        check(result, plan.actions[0], number)
      }
    }
    for (number, result) in run.present.now.sent.sorted(by: { $0.key < $1.key })
    where !isJoined(number) {
      check(result, program.dispatches[number].actions[0], number)
    }
  }

  private func check(_ result: DispatchResult, _ action: Int, _ number: Int) {
    let stores = result.stores
    if stores.isEmpty { checkEmpty(result, action, number) }
    var outcomes: [Int: StoreOutcome] = [:]
    for store in stores { outcomes[Int(store.storeIdentifier.dropFirst())!] = store.outcome }
    check(outcomes.count == stores.count, "#\(number) has two results of a store: \(result)")
    // A dispatch is refused when its exclusive section is left, or as it is sent; its stores are known by then.
    let plan = program.dispatches[number]
    let isRefused =
      (plan.isMadeInSection || plan.isSent || plan.isInGroup)
      && result.dispatchError.map {
        $0.code == .wouldDeadlock && (!program.isTame || $0.isForTasks)
      } == true
    for (store, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
      let key = Part.Key(action: action, store: store)
      if isRefused, outcome.isCancelled, parts[key]?.began.isEmpty != false { continue }
      if let fault = fault(outcome, key, parts[key] ?? Part(), outcomes) {
        fail("\(name(key)) ended as \(outcome): \(fault)")
      }
    }
    for store in program.stores.indices where outcomes[store] == nil {
      let hasRun = parts[Part.Key(action: action, store: store)]?.began.isEmpty == false
      check(!hasRun, "action \(action) of #\(number) ran in s\(store), which has no result")
    }
  }

  /// No store has a result: none responded, or the dispatch was ended before.
  private func checkEmpty(_ result: DispatchResult, _ action: Int, _ number: Int) {
    switch result.error {
    case nil: break
    case is CancellationError:
      check(
        mayBeCancelled(number), "#\(number) was cancelled, and no statement cancels it"
      )
    case let error as DispatchError where error.code == .unknownStore:
      check(program.removesStores, "#\(number) ended with \(error)")
    case let error as DispatchError where mayEnd(number, with: error.code): break
    case let error as DispatchError where error.code == .wouldDeadlock:
      check(
        !program.isTame || error.isForTasks,
        "#\(number) was refused, and no ring can close: \(error)")
    case let error?: fail("#\(number) ended with \(error)")
    }
  }

  /// Whether a dispatch may have been cancelled.
  ///
  /// One that is sent in a block is cancelled with that block. One that a block dispatches is cancelled with the
  /// dispatch of the block.
  private func mayBeCancelled(_ number: Int) -> Bool {
    if program.dispatches[number].isInGroup { return true }
    let isAnyCancelled =
      spans.values.contains(where: \.wasCancelled) || marks[.taskCancelled] != nil
    if program.dispatches[number].isSent {
      return program.isControlled || program.hasGroups || isAnyCancelled
    }
    if madeInTasks.contains(number), isAnyCancelled { return true }
    if mayBeCancelledByControl(number) { return true }
    if spans[number]?.wasCancelled == true { return true }
    return makers[number].map(mayBeCancelled) ?? false
  }

  private func hasBegun(_ action: Int) -> Bool {
    parts.contains { $0.key.action == action && !$0.value.began.isEmpty }
  }

  /// Why a store's part can't have ended like that; nil if it can.
  private func fault(
    _ outcome: StoreOutcome, _ key: Part.Key, _ part: Part, _ outcomes: [Int: StoreOutcome]
  ) -> String? {
    let hasRun = !part.began.isEmpty
    let answer = program.actions[key.action].answers[key.store]
    let hooks = (0..<2).compactMap {
      program.hooks[.init(middleware: $0, action: key.action, store: key.store)]
    }
    switch outcome {
    case .finished:
      if !hasRun { return "it has not run" }
      if part.began.count > 1 { return nil }
      return part.threw.isEmpty && answer?.fails != true ? nil : "it has failed"
    case .vetoed:
      if hasRun { return "it has run" }
      return hooks.contains { $0.verdict == .veto } ? nil : "no hook vetoes it"
    case .cancelled:
      let dispatch = program.actions[key.action].dispatch
      // The result was there before the end of its stores.
      if hasTimeLimit(dispatch) { return nil }
      // In the pause before an attempt.
      if hasRun, attempts(dispatch) > 1, mayBeCancelled(dispatch) { return nil }
      if hasRun { return "it has run" }
      let mayBeGone = program.stores[key.store].isWeak
      if program.stores[key.store].runsRegardless, !mayBeGone, hasBegun(key.action) {
        return "it runs regardless, and another store had started"
      }
      return mayBeGone || mayBeCancelled(dispatch) ? nil : "no statement cancels it"
    case .failed(is FuzzError):
      return hasRun && (!part.threw.isEmpty || answer?.fails == true) ? nil : "it did not throw"
    case .failed(let error as DispatchError): return fault(error, key, hasRun, hooks, outcomes)
    default: return "it did not throw that"
    }
  }

  private func fault(
    _ error: DispatchError, _ key: Part.Key, _ hasRun: Bool, _ hooks: [FuzzProgram.HookPlan],
    _ outcomes: [Int: StoreOutcome]
  ) -> String? {
    let answer = program.actions[key.action].answers[key.store]
    if error.code == .operationAbandoned {
      return hasRun && answer?.drops == true ? nil : "it was not dropped"
    }
    if error.code == .undone {
      if !isKeyed(program.actions[key.action].dispatch) { return "it is not atomic" }
      let hasOtherFailed = outcomes.contains { $0.key != key.store && !$0.value.isFinished }
      return hasOtherFailed ? nil : "all other stores have finished"
    }
    if hasRun { return "it has run" }
    switch error.code {
    case .middlewareFailed:
      return hooks.contains { $0.verdict == .fail } ? nil : "no hook throws"
    case .dependencyFailed:
      let store = program.stores[key.store]
      if store.runsRegardless { return "it runs regardless" }
      let failed = store.waitFor.contains { outcomes[$0].map { !$0.isFinished } ?? false }
      return failed ? nil : "what it waits for has finished"
    case .wouldDeadlock:
      return program.isTame && !error.isForTasks ? "no ring can close" : nil
    default: return "nothing in the program leads to that"
    }
  }
}

extension FuzzProgram.Answer {
  /// Whether its callback fails.
  fileprivate var fails: Bool {
    if case .callback(_, .fail, _) = kind { true } else { false }
  }

  /// Whether its callback drops the operation.
  var drops: Bool {
    if case .callback(_, .drop, _) = kind { true } else { false }
  }
}

extension FuzzProgram {
  /// Whether a store may be gone.
  var removesStores: Bool {
    stores.contains(where: \.isWeak)
      || bodies.joined().contains { if case .unregister = $0 { true } else { false } }
  }
}
