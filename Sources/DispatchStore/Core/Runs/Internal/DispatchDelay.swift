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
    case waiting(Continuation?)
    /// The time has passed. Holds the dispatch, if the continuation was known.
    case ended(DelayedDispatch?)
    /// The dispatch ended before.
    case dropped
  }

  private struct Continuation {
    let subject: DelayedDispatch
    let proceed: @Sendable () -> Void
  }

  init(of dispatch: Dispatch, isPossible: Bool) {
    self.dispatch = dispatch
    self.isPossible = isPossible
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// The delayed dispatch; nil if it is about to wait, or is not to begin.
  var subject: DelayedDispatch? {
    state.withLock { state in
      switch state {
      case .waiting(let continuation): continuation?.subject
      case .ended(let subject): subject
      case .dropped: nil
      }
    }
  }

  /// Ends the delay; the dispatch begins elsewhere.
  func end() {
    let continuation = state.withLock { state -> Continuation? in
      guard case .waiting(let continuation) = state else { return nil }
      state = .ended(continuation?.subject)
      return continuation
    }
    continuation?.proceed()
  }

  /// Calls a closure when the delay ends.
  ///
  /// If it has ended, calls it at once.
  func whenEnded(_ subject: DelayedDispatch, _ proceed: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if case .waiting = state {
        state = .waiting(Continuation(subject: subject, proceed: proceed))
      }
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
  let isSequence: Bool
  let storeIdentifier: String?
  let mode: Dispatcher.Mode
  let callSite: CallSite

  init(_ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Dispatcher.Mode) {
    (id, parent, callSite) = (dispatch.id, dispatch.parent, dispatch.callSite)
    (actions, isSequence) = (subject.actions, subject.isSequence)
    storeIdentifier = subject.storeIdentifier
    self.mode = mode
  }
}

/// The delayed dispatches of a dispatcher.
final class DelayedDispatches: DispatcherAttachment {
  private let delays = Locked([DispatchID: DispatchDelay]())

  var all: [DelayedDispatch] { delays.withLock { Array($0.values) }.compactMap(\.subject) }
  var count: Int { delays.withLock(\.count) }

  func insert(_ delay: DispatchDelay, _ id: DispatchID) {
    delays.withLock { $0[id] = delay }
  }

  func remove(_ id: DispatchID) {
    let removed = delays.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(removed) {}
  }
}

extension Dispatcher {
  var delayedDispatches: DelayedDispatches { attachment(orAdd: DelayedDispatches()) }
}
