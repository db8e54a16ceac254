/// What an observer of deltas has kept and not been called with: one delta, into which the next are merged.
final class DeltaBuffer: Sendable {
  private struct State {
    var delta: KeptDelta?
    var isScheduled = false
  }

  private let state = Locked(State())

  /// Adds a delta; whether a call is to be scheduled.
  func put(_ delta: KeptDelta, _ merge: (_ delta: KeptDelta, _ next: KeptDelta) -> Void) -> Bool {
    state.withLock { state in
      if let present = state.delta { merge(present, delta) } else { state.delta = delta }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// All that was added; where there is nothing, no call is scheduled any longer.
  func take() -> KeptDelta? {
    state.withLock { state in
      if state.delta == nil { state.isScheduled = false }
      return state.delta.take()
    }
  }
}
