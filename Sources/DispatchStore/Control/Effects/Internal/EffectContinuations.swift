/// The continuations of a dispatcher, with the runs of effects that have not entered their lines.
final class EffectContinuations: Continuations, @unchecked Sendable {
  // because its superclass is, and it adds a constant
  private let ahead = Locked(Ahead())

  private struct Ahead {
    /// For each dispatch whose hooks know of its end, the number of effects that have not been told.
    var untold: [DispatchID: Int] = [:]
    /// The number of runs of durable effects that wait until their causes are saved, and are in no line before.
    var unsavedCount = 0
    /// The failures of effects that only a warning has told of.
    var failures: [String] = []
  }

  private func changeAhead(_ body: (inout Ahead) -> Void) {
    ahead.withLock(body)
    changed()
  }

  /// Notes the effects that follow a dispatch, before its end is known.
  ///
  /// May be called several times for one dispatch, before its effects are told.
  func willTell(_ count: Int, of id: DispatchID) {
    if count > 0 { changeAhead { $0.untold[id] = count } }
  }

  /// Notes that an effect has been told, and that its run is in its line, or waits until its cause is saved.
  func hasTold(of id: DispatchID) {
    changeAhead { ahead in
      guard let count = ahead.untold[id] else { return }
      ahead.untold[id] = count > 1 ? count - 1 : nil
    }
  }

  /// Notes that a run waits until its cause is saved.
  func willBeSaved() { changeAhead { $0.unsavedCount += 1 } }

  /// Notes that the run has entered its line, or has ended since saving has failed.
  func wasSaved() { changeAhead { $0.unsavedCount -= 1 } }

  /// Notes that an effect has failed for good, and that nothing handles that.
  func hasFailed(_ text: String) { changeAhead { $0.failures.append(text) } }

  /// Takes the failures of effects so far.
  func takeFailures() -> [String] {
    ahead.withLock { ahead in
      defer { ahead.failures = [] }
      return ahead.failures
    }
  }

  /// Makes the record of a run's sleeps, each of which is a change.
  func makeSleeps() -> VirtualSleeps { VirtualSleeps { self.changed() } }

  /// Whether an effect is about to be told of the end of a dispatch, or what has caused a run is not saved.
  override var isAnyRunAhead: Bool {
    ahead.withLock { !$0.untold.isEmpty || $0.unsavedCount > 0 }
  }
}

extension Dispatcher {
  /// Everything that goes on by itself; nil if nobody follows that.
  var continuations: EffectContinuations? { pool.continuations as? EffectContinuations }

  /// Follows what goes on by itself from now on, for `whenGoneOn`.
  package func followContinuations() {
    timers.follow(pool.follow(EffectContinuations()))
  }
}

extension DispatchInfo {
  /// Notes the effects that follow the dispatch, for `whenGoneOn`; called in `dispatchDidEnd`.
  package func noteFollowers() {
    dispatcher.continuations?.willTell(session.followers.count, of: id)
  }
}
