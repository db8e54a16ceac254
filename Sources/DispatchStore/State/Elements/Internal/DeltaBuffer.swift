/// Holds the undelivered changes of an observer as one delta, into which later deltas are merged.
final class DeltaBuffer: Sendable {
  private struct State {
    var delta: KeptDelta?
    var isScheduled = false
  }

  private let state = Locked(State())

  /// Adds a delta; returns whether to schedule a call.
  func put(_ delta: KeptDelta, _ merge: (_ delta: KeptDelta, _ next: KeptDelta) -> Void) -> Bool {
    state.withLock { state in
      if let present = state.delta { merge(present, delta) } else { state.delta = delta }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// Removes and returns the merged delta; if there is none, records that no call is scheduled.
  func take() -> KeptDelta? {
    state.withLock { state in
      if state.delta == nil { state.isScheduled = false }
      return state.delta.take()
    }
  }
}
