import DispatchStore

extension FuzzRun {
  /// Makes a dispatch of the program.
  func dispatch(_ number: Int) {
    let plan = program.dispatches[number]
    guard let dispatcher = dispatcher(plan.dispatcher) else { return }
    let target = plan.target.map { "s\($0)" }
    let options = DispatchOptions(
      after: plan.after.compactMap(handleToWaitFor), continuesOnFailure: plan.continuesOnFailure)
    let actions = plan.actions.map { FuzzAction(number: $0) }
    log.note(.called, number)
    let end = plan.mode == .sync ? beginWait("a thread is in .sync dispatch #\(number)") : {}
    let handle: DispatchHandle
    // The call site names the dispatch: `fuzz:12` is #12.
    switch (plan.completion, plan.isSequence) {
    case (.result(let body), true):
      handle = dispatcher.dispatch(
        storeIdentifier: target, actions: actions, mode: plan.mode.mode, options: options,
        then: { (_: DispatchResult) in self.complete(number, body) }, fileID: "fuzz",
        line: UInt(number))
    case (.result(let body), false):
      handle = dispatcher.dispatch(
        storeIdentifier: target, action: actions[0], mode: plan.mode.mode, options: options,
        then: { (_: DispatchResult) in self.complete(number, body) }, fileID: "fuzz",
        line: UInt(number))
    case (_, true):
      handle = dispatcher.dispatch(
        storeIdentifier: target, actions: actions, mode: plan.mode.mode, options: options,
        then: completion(number), fileID: "fuzz", line: UInt(number))
    case (_, false):
      handle = dispatcher.dispatch(
        storeIdentifier: target, action: actions[0], mode: plan.mode.mode, options: options,
        then: completion(number), fileID: "fuzz", line: UInt(number))
    }
    end()
    present.with { $0.handles[number] = handle }
    if plan.mode == .sync, handle.hasBeenRefused {
      noteRefusal("#\(number): \(handle.resultIfEnded!.error!)")
    }
    if !plan.isMadeInSection { log.note(.returned, number) }
  }

  private func completion(_ number: Int) -> (@Sendable () -> Void)? {
    guard case .plain(let body) = program.dispatches[number].completion else { return nil }
    return { self.complete(number, body) }
  }

  private func complete(_ number: Int, _ body: FuzzProgram.Body) {
    try? run(body)
    log.note(.completed, number)
  }

  /// A wait was refused because it would close a ring; no failure where the program may close one.
  func noteRefusal(_ description: String) {
    refusals.with { $0 += 1 }
    if program.isTame { log.fail("refused, and no ring can close: \(description)") }
  }
}

extension DispatchHandle {
  /// Whether the dispatch itself has ended because it would have closed a ring.
  var hasBeenRefused: Bool {
    resultIfEnded?.dispatchError?.code == .wouldDeadlock
  }
}

extension FuzzProgram.DispatchPlan.Mode {
  var mode: Dispatcher.Mode {
    switch self {
    case .async: .async
    case .serial: .serial
    case .lane(let key): .serial(lane: key)
    case .sync: .sync
    case .main: .mainThread
    }
  }
}
