/// The continuations of a dispatcher that a test follows; they know only the work that has begun since.
final class FollowedContinuations: Continuations, @unchecked Sendable {
  // because it adds only a constant
  private let state = Locked(State())

  private struct State {
    /// The number of threads, and of closures on their way to one, that may dispatch.
    var count = 0
    /// The dispatches whose ends continue something: a group, or a closure that awaits the end.
    var ends: [DispatchID: End] = [:]
    /// For each dispatch whose hooks know of its end, the number of effects that have not been told.
    var untold: [DispatchID: Int] = [:]
    /// The number of runs of durable effects that wait until their causes are saved, and are in no line before.
    var unsavedCount = 0
    /// The failures of effects that only a warning has told of.
    var failures: [String] = []
    var waiters: [@Sendable () -> Void] = []
    var changeCount = 0
  }

  private struct End {
    let dispatch: Dispatch
    var count = 0
  }

  private func change(_ body: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      body(&state)
      state.changeCount += 1
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }

  // MARK: What goes on

  override func begin() { change { $0.count += 1 } }

  override func end() { change { $0.count -= 1 } }

  override func add(_ dispatch: Dispatch) {
    change { $0.ends[dispatch.id, default: End(dispatch: dispatch)].count += 1 }
  }

  override func remove(_ id: DispatchID) {
    var removed: End?
    change { state in
      guard let end = state.ends[id] else { return }
      if end.count > 1 { state.ends[id]?.count -= 1 } else { state.ends[id] = nil }
      removed = end
    }
    // Released outside of the lock: a reply's deinitialization is code of the program.
    withExtendedLifetime(removed) {}
  }

  override func changed() { change { _ in } }

  // MARK: Effects

  /// Notes the effects that follow a dispatch, before its end is known.
  ///
  /// May be called several times for one dispatch, before its effects are told.
  func willTell(_ count: Int, of id: DispatchID) {
    if count > 0 { change { $0.untold[id] = count } }
  }

  /// Notes that an effect has been told, and that its run is in its line, or waits until its cause is saved.
  func hasTold(of id: DispatchID) {
    change { state in
      guard let count = state.untold[id] else { return }
      state.untold[id] = count > 1 ? count - 1 : nil
    }
  }

  /// Notes that a run waits until its cause is saved.
  func willBeSaved() { change { $0.unsavedCount += 1 } }

  /// Notes that the run has entered its line, or has ended since saving has failed.
  func wasSaved() { change { $0.unsavedCount -= 1 } }

  /// Notes that an effect has failed for good, and that nothing handles that.
  func hasFailed(_ text: String) { change { $0.failures.append(text) } }

  /// Takes the failures of effects so far.
  func takeFailures() -> [String] {
    state.withLock { state in
      defer { state.failures = [] }
      return state.failures
    }
  }

  /// Makes the record of a run's sleeps, each of which is a change.
  func makeSleeps() -> VirtualSleeps { VirtualSleeps { self.changed() } }

  // MARK: Questions

  /// Whether anything goes on, but for effects.
  ///
  /// A dispatch in `ends` does not count while it waits for time to pass.
  var isAnyUnderWay: Bool {
    let (count, awaited) = state.withLock { ($0.count, $0.ends.values.map(\.dispatch)) }
    return count > 0 || !awaited.allSatisfy(\.awaitsDelay)
  }

  /// Whether a run is about to enter its line: an effect is about to be told of the end of a dispatch, or what has caused
  /// the run is not saved.
  var isAnyRunAhead: Bool { state.withLock { !$0.untold.isEmpty || $0.unsavedCount > 0 } }

  /// The number of changes so far.
  var changeCount: Int { state.withLock(\.changeCount) }

  /// Calls a closure at the next change; returns the number of those before.
  func whenChanged(_ body: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.waiters.append(body)
      return state.changeCount
    }
  }
}
