/// The time between the call that makes a dispatch and its start.
///
/// Admission control ends it.
final class DispatchDelay: Sendable {
  let dispatch: Dispatch
  /// Whether the dispatch may wait.
  ///
  /// False if it would block a system thread for tasks.
  let isPossible: Bool
  private let state = Locked(State.waiting(nil))

  private enum State {
    /// Can become ended or dropped. Holds the continuation, once that is known.
    case waiting((@Sendable () -> Void)?)
    /// The time has passed.
    case ended
    /// The dispatch ended before.
    case dropped
  }

  init(of dispatch: Dispatch, isPossible: Bool) {
    self.dispatch = dispatch
    self.isPossible = isPossible
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// Ends the delay; the dispatch begins elsewhere.
  func end() {
    let proceed = state.withLock { state -> (@Sendable () -> Void)? in
      guard case .waiting(let proceed) = state else { return nil }
      state = .ended
      return proceed
    }
    proceed?()
  }

  /// Calls a closure when the delay ends.
  ///
  /// If it has ended, calls it at once.
  func whenEnded(_ proceed: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if case .waiting = state { state = .waiting(proceed) }
      if case .ended = state { return true }
      return false
    }
    if hasEnded { proceed() }
  }

  /// Drops the delay, because the dispatch does not begin.
  func drop() {
    let former = state.withLock { state -> State in
      defer { if case .waiting = state { state = .dropped } }
      return state
    }
    withExtendedLifetime(former) {}
  }
}

/// A dispatch that was accepted, and has not begun.
struct DelayedDispatch: Sendable {
  let id: DispatchID
  let parent: DispatchID?
  let actions: [any ActionType]
  let storeIdentifier: String?
  let mode: Dispatcher.Mode
  let callSite: CallSite
}

/// The delayed dispatches of a dispatcher.
final class DelayedDispatches: DispatcherAttachment {
  private let entries = Locked([DispatchID: DelayedDispatch]())

  var all: [DelayedDispatch] { entries.withLock { Array($0.values) } }
  var count: Int { entries.withLock(\.count) }

  func find(_ id: DispatchID) -> DelayedDispatch? { entries.withLock { $0[id] } }

  func insert(_ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Dispatcher.Mode) {
    let entry = DelayedDispatch(
      id: dispatch.id, parent: dispatch.parent, actions: subject.actions,
      storeIdentifier: subject.storeIdentifier, mode: mode, callSite: dispatch.callSite)
    entries.withLock { $0[entry.id] = entry }
  }

  func remove(_ id: DispatchID) {
    let removed = entries.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(removed) {}
  }
}

extension Dispatcher {
  var delayedDispatches: DelayedDispatches { attachment(orAdd: DelayedDispatches()) }
}
