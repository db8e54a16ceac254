/// The knowledge of a test that waits for effects: which are about to follow a dispatch, and when runs end or come to
/// rest.
///
/// Only a dispatcher whose effects are watched has this attachment.
final class EffectWatch: DispatcherAttachment {
  private let state = Locked(State())

  private struct State {
    /// For each dispatch whose hooks know of its end, the number of effects that have not been told.
    var untold: [DispatchID: Int] = [:]
    /// The number of runs of durable effects that wait until their causes are saved, and are in no line before.
    var unsavedCount = 0
    var waiters: [@Sendable () -> Void] = []
    var changeCount = 0
  }

  /// Whether a run is about to enter its line: an effect is about to be told of the end of a dispatch, or what has caused
  /// the run is not saved.
  var isAnyAhead: Bool { state.withLock { !$0.untold.isEmpty || $0.unsavedCount > 0 } }

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
  func willBeSaved() { state.withLock { $0.unsavedCount += 1 } }

  /// Notes that the run has entered its line, or has ended since saving has failed.
  func wasSaved() { change { $0.unsavedCount -= 1 } }

  /// Notes that a run has ended or come to rest.
  func runChanged() { change { _ in } }

  /// Makes the record of a run's sleeps, each of which is a change.
  func makeSleeps() -> VirtualSleeps { VirtualSleeps { self.runChanged() } }

  private func change(_ body: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      body(&state)
      state.changeCount += 1
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }

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

extension Dispatcher {
  /// Watches the runs of effects that begin from now on, for `whenEffectsGoOn`.
  package func watchEffects() { _ = attachment(orAdd: EffectWatch()) }

  /// Calls a closure once a run of an effect has ended or come to rest; returns false if none goes on.
  ///
  /// A run rests while one of its tasks sleeps on a virtual clock or awaits a delayed dispatch, and while it waits for its
  /// turn or for another attempt. Long-lived effects do not count.
  package func whenEffectsGoOn(_ body: @escaping @Sendable () -> Void) -> Bool {
    let followers = registry.withLock(\.followers)
    guard !followers.isEmpty, let watch = attachment(EffectWatch.self) else { return false }
    // Before the runs are looked at, so that no change is missed.
    let changes = watch.whenChanged(body)
    // A run that has ended meanwhile may have begun one of an effect that was looked at before.
    return watch.isAnyAhead
      || followers.contains { ($0 as? RegisteredEffect)?.isBusy == true }
      || watch.changeCount != changes
  }
}

extension DispatchInfo {
  /// Notes the effects that follow the dispatch, for `whenEffectsGoOn`; called in `dispatchDidEnd`.
  package func noteFollowers() {
    dispatcher.attachment(EffectWatch.self)?.willTell(session.followers.count, of: id)
  }
}
