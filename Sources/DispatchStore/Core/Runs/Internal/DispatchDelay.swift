/// The time between the call that makes a dispatch and its beginning: what controls the dispatch ends it.
final class DispatchDelay: Sendable {
  let dispatch: Dispatch
  /// Whether the dispatch may wait: not where it would block one of the system's threads for tasks.
  let isPossible: Bool
  private let state = Locked(State.waiting(nil))

  private enum State {
    /// Can become ended or dropped; with what follows, once that is known.
    case waiting((@Sendable () -> Void)?)
    /// The time has come.
    case ended
    /// The dispatch has ended before.
    case dropped
  }

  init(of dispatch: Dispatch, isPossible: Bool) {
    self.dispatch = dispatch
    self.isPossible = isPossible
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// Its time has come: the dispatch begins, elsewhere.
  func end() {
    let proceed = state.withLock { state -> (@Sendable () -> Void)? in
      guard case .waiting(let proceed) = state else { return nil }
      state = .ended
      return proceed
    }
    proceed?()
  }

  /// Calls a closure when its time has come; at once where it has.
  func whenEnded(_ proceed: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if case .waiting = state { state = .waiting(proceed) }
      if case .ended = state { return true }
      return false
    }
    if hasEnded { proceed() }
  }

  /// The dispatch does not begin.
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
  let id: TransactionID
  let parent: TransactionID?
  let actions: [any ActionType]
  let mode: Dispatcher.Mode
  let callSite: CallSite
}

/// Those of a dispatcher.
final class DelayedDispatches: DispatcherAttachment {
  private let entries = Locked([TransactionID: DelayedDispatch]())

  var all: [DelayedDispatch] { entries.withLock { Array($0.values) } }
  var count: Int { entries.withLock(\.count) }

  func insert(_ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Dispatcher.Mode) {
    let entry = DelayedDispatch(
      id: dispatch.id, parent: dispatch.parent, actions: subject.actions, mode: mode,
      callSite: dispatch.callSite)
    entries.withLock { $0[entry.id] = entry }
  }

  func remove(_ id: TransactionID) {
    let removed = entries.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(removed) {}
  }
}

extension Dispatcher {
  var delayedDispatches: DelayedDispatches { attachment(orAdd: DelayedDispatches()) }
}
