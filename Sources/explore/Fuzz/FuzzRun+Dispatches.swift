import DispatchStore
import Foundation

extension FuzzRun {
  /// Makes a dispatch of the program.
  func dispatch(_ number: Int) {
    let plan = program.dispatches[number]
    guard let dispatcher = dispatcher(plan.dispatcher), isFirst(number) else { return }
    let target = plan.target.map { "s\($0)" }
    let options = options(of: plan)
    let actions = plan.actions.map { FuzzAction(number: $0) }
    log.note(.called, number)
    let end = plan.mode == .sync ? beginWait("a thread is in .sync dispatch #\(number)") : {}
    let handle: DispatchHandle
    // The call site names the dispatch: `fuzz:12` is #12.
    if plan.isSequence {
      handle = dispatcher.dispatch(
        storeIdentifier: target, actions: actions, mode: plan.mode.mode, options: options,
        then: completion(number), fileID: "fuzz", line: UInt(number))
    } else if case .plain = plan.completion {
      handle = dispatcher.dispatch(
        storeIdentifier: target, action: actions[0], mode: plan.mode.mode, options: options,
        then: completion(number), fileID: "fuzz", line: UInt(number))
    } else {
      handle = dispatcher.dispatch(
        actions[0], to: target, mode: plan.mode.mode, options: options,
        then: completionWithResult(number), fileID: "fuzz", line: UInt(number))
    }
    end()
    present.with { $0.handles[number] = handle }
    if plan.mode == .sync, handle.hasBeenRefused {
      noteRefusal("#\(number): \(handle.resultIfEnded!.error!)")
    }
    if !plan.isMadeInSection { log.note(.returned, number) }
  }

  func isFirst(_ number: Int) -> Bool {
    present.with { $0.made.insert(number).inserted }
  }

  func options(of plan: FuzzProgram.DispatchPlan) -> DispatchOptions {
    let base: DispatchOptions = [
      .after(plan.after.compactMap(handleToWaitFor)),
      plan.continuesOnFailure && !plan.isSent ? .continuingOnFailure : [],
    ]
    return [base, self.options(of: plan.controls)]
  }

  func options(of controls: [FuzzProgram.Control]) -> DispatchOptions {
    controls.reduce([]) { [$0, option(of: $1)] }
  }

  private func option(of control: FuzzProgram.Control) -> DispatchOptions {
    switch control {
    case .timeLimit(let milliseconds): .timeout(.milliseconds(milliseconds))
    case .name(let name): .named(name)
    case .exclusive(let key): .exclusive(key)
    case .cancelsPrevious(let key): .cancelsPrevious(key)
    case .skippedIfInFlight(let key): .skippedIfInFlight(key)
    case .limit(let place):
      present.now.limits.dropFirst(place).first.map { .limited(by: $0) } ?? []
    case .debounced(let key): .debounced(key, for: .milliseconds(2))
    case .rate(let place):
      present.now.rates.dropFirst(place).first.map { .rateLimited(by: $0) } ?? []
    case .detached: .detached
    case .guarded: .guarded(by: present.now.breaker)
    case .throttled(let key): .throttled(key, per: .milliseconds(2), edges: .both)
    case .isUrgent: .priority(.high)
    case .retry(let attempts, _): .retry(attempts: attempts)
    case .idempotencyKey(let key): .idempotencyKey(key, remembered: .zero)
    case .when(let place, let count):
      store(place).map { .when($0) { $0.count >= count } } ?? []
    }
  }

  /// Makes a dispatch in this task.
  func send(_ number: Int) async {
    let plan = program.dispatches[number]
    guard let dispatcher = dispatcher(plan.dispatcher), isFirst(number) else { return }
    let options = options(of: plan)
    log.note(.called, number)
    let end = beginWait("a task sends #\(number)")
    let result = await dispatcher.send(
      FuzzAction(number: plan.actions[0]), to: plan.target.map { "s\($0)" }, mode: plan.mode.mode,
      options: options, then: completionWithResult(number), fileID: "fuzz", line: UInt(number))
    end()
    if result.dispatchError?.code == .wouldDeadlock {
      noteRefusal("send #\(number): \(result.error!)")
      // It may have begun, and goes on.
      if plan.isDetached { return }
    }
    present.with { $0.sent[number] = result.result }
    log.note(.returned, number)
    log.note(.awaited, number)
  }

  private func completion(_ number: Int) -> (@Sendable () -> Void)? {
    switch program.dispatches[number].completion {
    case .none: return nil
    case .plain(let body), .result(let body): return { self.complete(number, body) }
    }
  }

  private func completionWithResult(_ number: Int) -> (@Sendable (DispatchResult) -> Void)? {
    guard let completion = completion(number) else { return nil }
    return { _ in completion() }
  }

  private func complete(_ number: Int, _ body: FuzzProgram.Body) {
    try? run(body)
    log.note(.completed, number)
  }

  /// A wait was refused because it would close a ring; no failure if the program may close one.
  func noteRefusal(_ description: String) {
    refusals.with { $0 += 1 }
    if program.isTame, !description.contains(DispatchError.needsTaskThread) {
      log.fail("refused, and no ring can close: \(description)")
    }
  }
}

extension DispatchError {
  /// The words with which a wait is refused that would block a thread which a dispatch in a task needs.
  ///
  /// Such a wait is no ring.
  fileprivate static let needsTaskThread = "the system's pool for tasks"

  var isForTasks: Bool { message.contains(Self.needsTaskThread) }
}

extension DispatchHandle {
  /// Whether the dispatch itself has ended because it would have closed a ring.
  var hasBeenRefused: Bool {
    resultIfEnded?.isRefused == true
  }
}

extension FuzzProgram.DispatchPlan.Mode {
  var mode: Dispatcher.Mode {
    switch self {
    case .async: .async
    case .serial: .serial
    case .lane(let key): .serial(lane: key)
    case .lanes: .serial(lanes: [0, 1])
    case .sync: .sync
    case .main: .mainThread
    }
  }
}
