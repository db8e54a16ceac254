/// What is dispatched: what a dispatch that is accepted later keeps until then.
struct DispatchSubject: Sendable {
  /// One, unless it is a sequence.
  let actions: [any ActionType]
  let isSequence: Bool
  let storeIdentifier: String?
  let continuesOnFailure: Bool

  init(_ action: any ActionType, to storeIdentifier: String?) {
    actions = [action]
    isSequence = false
    continuesOnFailure = false
    self.storeIdentifier = storeIdentifier
  }

  init(sequenceOf actions: [any ActionType], to storeIdentifier: String?, continuesOnFailure: Bool)
  {
    self.actions = actions
    isSequence = true
    self.storeIdentifier = storeIdentifier
    self.continuesOnFailure = continuesOnFailure
  }

  /// Nil for a sequence.
  var action: (any ActionType)? { isSequence ? nil : actions[0] }
}

// A dispatch that was made before its time: in an exclusive section, or with a delay.
extension Dispatcher {
  /// Takes it to its stores or actions, as they are now, and schedules it; the caller accepts it then.
  ///
  /// - Returns: The scheduler, which may not exist any more once the dispatch has left it.
  func accept(
    _ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode, on thread: ThreadState
  ) -> Scheduler {
    dispatch.bound {
      takeUp(dispatch, subject, mode, on: thread)
      return schedule(dispatch, to: subject.storeIdentifier, mode, on: thread)
    }
  }

  /// Takes it to its stores or actions; one that joins another has neither.
  func takeUp(
    _ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode, on thread: ThreadState
  ) {
    guard dispatch.sequence == nil else { return }
    guard let action = subject.action else {
      return makeSequence(of: dispatch, subject, mode, on: thread)
    }
    let route = route(to: type(of: action), identifier: subject.storeIdentifier, on: thread)
    // One that was accepted runs, also where nothing is accepted any longer.
    if dispatch.isAction, route._withUnsafeGuaranteedRef(\.refusal) != nil {
      route._withUnsafeGuaranteedRef { $0.end() }
    } else {
      dispatch.leaveRoute()
      dispatch.keep(route)
    }
  }

  func makeSequence(
    of dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode, on thread: ThreadState
  ) {
    let sequence = DispatchSequence.make(
      of: subject.actions, to: subject.storeIdentifier, in: mode,
      continuesOnFailure: subject.continuesOnFailure, by: self,
      using: dispatch.takeSpareSequence(), on: thread)
    sequence.wasAccepted(by: dispatch.takeRoute())
    if let details = dispatch.details, details.begin(sequenceOf: subject.actions.count) {
      sequence.limited = details
    }
    dispatch.put(sequence)
    sequence.dispatchBegan(dispatch)
  }
}
