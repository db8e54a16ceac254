/// An effect that is registered with a dispatcher, with its runs.
final class RegisteredEffect: DispatchFollower {
  let effect: Effect
  let reference: DispatcherReference
  private let state: Locked<State>

  private enum State {
    case following(EffectLines<EffectRun>)
    case longLived(LongLivedRun<EffectRun>)
  }

  init(_ effect: Effect, with dispatcher: Dispatcher) {
    self.effect = effect
    reference = DispatcherReference(dispatcher: dispatcher)
    switch effect.kind {
    case .following: state = Locked(.following(EffectLines()))
    case .running: state = Locked(.longLived(LongLivedRun()))
    }
  }

  // MARK: Actions

  func responds(to type: any ActionType.Type) -> Bool {
    if case .following(let following) = effect.kind { following.responds(type) } else { false }
  }

  private var durable: (name: String, outbox: Outbox)? {
    if case .following(let following) = effect.kind { following.durable } else { nil }
  }

  var isDurable: Bool { durable != nil }

  func companion(of id: DispatchID, _ action: any ActionType) -> DispatchCompanion? {
    durable.map { OutboxBeginning($0.outbox, $0.name, id, action) }
  }

  func dispatchEnded(_ ended: EndedDispatch) {
    guard case .following(let following) = effect.kind,
      following.runsRegardless || ended.result.isSuccess
    else { return }
    if let durable, !durable.outbox.enter(ended, durable.name) { return }
    let key = following.key?(ended.action)
    guard let run = EffectRun(of: self, following: ended, key, on: .current) else { return }
    begin(run, key, following)
  }

  /// Begins a run for an action that no dispatch carries now.
  ///
  /// - Parameter enter: Called with the run before it begins.
  func begin(_ action: any ActionType, by dispatcher: Dispatcher, _ enter: (EffectRun) -> Void) {
    guard case .following(let following) = effect.kind,
      let run = EffectRun(of: self, dispatcher, effect.callSite, action, on: .current)
    else { return }
    enter(run)
    begin(run, nil, following)
  }

  private func begin(_ run: EffectRun, _ key: TypedKey?, _ following: Effect.Following) {
    switch arrive(run, key, following.policy) {
    case .begin(let former):
      for run in former { run.cancel() }
      run.begin()
    case .wait:
      break
    case .skip:
      run.skip()
    }
  }

  private func arrive(
    _ run: EffectRun, _ key: TypedKey?, _ policy: EffectPolicy
  ) -> EffectLine<EffectRun>.Arrival {
    while true {
      let found = withLines { $0.find(key) }
      let id = found.lines.first { $0.key == key }?.id
      yieldPoint(.beginEffect)
      let arrival = withLines { lines -> EffectLine<EffectRun>.Arrival? in
        guard let (arrival, id) = lines.arrive(run, key, policy, at: id, of: found) else {
          return nil
        }
        run.line = id
        return arrival
      }
      if let arrival { return arrival }
    }
  }

  private func withLines<Result>(_ body: (inout EffectLines<EffectRun>) -> Result) -> Result {
    state.withLock { state in
      guard case .following(var lines) = state else {
        fatalError("A long-lived effect has no lines.")
      }
      // Moved out, so that changing it copies nothing.
      state = .following(EffectLines())
      defer { state = .following(lines) }
      return body(&lines)
    }
  }

  // MARK: Long-lived effects

  private func withLongLived<Result>(
    _ body: (inout LongLivedRun<EffectRun>) -> Result
  ) -> Result? {
    state.withLock { state in
      guard case .longLived(var run) = state else { return nil }
      defer { state = .longLived(run) }
      return body(&run)
    }
  }

  private var isLongLived: Bool { if case .running = effect.kind { true } else { false } }

  /// Starts a long-lived effect, once it is registered.
  func start() {
    if isLongLived { restart() }
  }

  func restart() {
    guard isLongLived, let dispatcher = reference.dispatcher,
      let run = EffectRun(of: self, dispatcher, effect.callSite, on: .current)
    else { return }
    switch withLongLived({ $0.restart(run) }) {
    case .begin?:
      run.begin()
    case .cancel(let present)?:
      run.skip()
      present.cancel()
    case .some(.none), nil:
      run.skip()
    }
  }

  func dispatcherClosed() {
    durable?.outbox.close()
    let run = withLongLived { $0.close() }
    run?.0?.cancel()
  }

  // MARK: Both

  var runCount: Int {
    state.withLock { state in
      switch state {
      case .following(let lines): lines.runCount
      case .longLived(let run): run.runCount
      }
    }
  }

  /// Removes a run that has ended, and begins the next one.
  func ended(_ run: EffectRun) {
    guard isLongLived else {
      let next = withLines { $0.ended(run, run.key, at: run.line) }
      next?.beginElsewhere()
      return
    }
    if withLongLived({ $0.ended(run) }) == true { restart() }
  }

  func cancel() {
    if isLongLived {
      withLongLived { $0.cancel() }??.cancel()
    } else {
      cancel(withLines { $0.cancel() })
    }
  }

  private func cancel(_ runs: (running: [EffectRun], waiting: [EffectRun])) {
    for run in runs.waiting + runs.running { run.cancel() }
  }

  /// Whether it has not been unregistered.
  var isRegistered: Bool { isLongLived || withLines { $0.isOpen } }

  /// Lets no further run begin.
  ///
  /// Returns whether the effect was registered.
  func unregister() -> Bool {
    let wasOpen: Bool
    if isLongLived {
      let (run, isOpen) = withLongLived { $0.close() } ?? (nil, false)
      run?.cancel()
      wasOpen = isOpen
    } else {
      let (isOpen, runs) = withLines { ($0.close(), $0.cancel()) }
      cancel(runs)
      wasOpen = isOpen
    }
    return reference.dispatcher?.unregister(self) ?? wasOpen
  }
}
