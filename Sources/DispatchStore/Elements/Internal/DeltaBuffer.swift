/// What an observer of deltas has kept and not been called with: one delta, into which the next are merged.
final class DeltaBuffer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct State {
    var delta: KeyedDelta<Key, Value>?
    var isScheduled = false
  }

  private let state = Locked(State())

  /// Adds a delta; whether a call is to be scheduled.
  func put(_ delta: KeyedDelta<Key, Value>, _ equality: ElementEquality<Value>) -> Bool {
    state.withLock { state in
      if state.delta?.merge(delta, equality) == nil { state.delta = delta }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// All that was added; where there is nothing, no call is scheduled any longer.
  func take() -> KeyedDelta<Key, Value>? {
    state.withLock { state in
      if state.delta == nil { state.isScheduled = false }
      return state.delta.take()
    }
  }
}
