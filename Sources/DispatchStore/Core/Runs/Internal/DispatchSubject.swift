/// The actions of a dispatch and their target: of a list, or of an action that is accepted or begins later.
struct DispatchSubject: Sendable {
  /// A single action, unless it is a sequence.
  let actions: [any ActionType]
  let storeIdentifier: String?
  var isSequence = false
  var continuesOnFailure = false

  /// Nil for a sequence.
  var action: (any ActionType)? { isSequence ? nil : actions[0] }
}

// The way of lists to their actions, and of dispatches that were made early: in an exclusive section, or with a delay.
extension Dispatcher {
  /// Takes the dispatch to its current stores or actions, and schedules it.
  ///
  /// The caller accepts it afterwards.
  ///
  /// - Returns: The scheduler, which may no longer exist once the dispatch has left it.
  func accept(
    _ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode, on thread: ThreadState
  ) -> Scheduler {
    dispatch.bound {
      takeUp(dispatch, subject, mode, on: thread)
      return schedule(dispatch, to: subject.storeIdentifier, mode, on: thread)
    }
  }

  /// Takes the dispatch to its stores or actions.
  ///
  /// A dispatch that joins another has neither.
  func takeUp(
    _ dispatch: Dispatch, _ subject: DispatchSubject, _ mode: Mode, on thread: ThreadState
  ) {
    guard dispatch.sequence == nil else { return }
    guard let action = subject.action else {
      return put(DispatchSequence(subject, in: mode, by: self), dispatch, on: thread)
    }
    changeRoute(of: dispatch, to: type(of: action), subject.storeIdentifier, on: thread)
  }

  /// Makes the dispatch a sequence, whose route has no stores.
  func put(_ sequence: DispatchSequence, _ dispatch: Dispatch, on thread: ThreadState) {
    changeRoute(of: dispatch, to: WorkAcceptance.self, nil, on: thread)
    dispatch.sequence = sequence
  }

  private func changeRoute(
    of dispatch: Dispatch, to type: any ActionType.Type, _ storeIdentifier: String?,
    on thread: ThreadState
  ) {
    let route = route(
      to: type, identifier: storeIdentifier, isAccepted: dispatch.isAccepted, on: thread)
    let former = dispatch.route
    dispatch.route = route
    former?._withUnsafeGuaranteedRef { $0.end() }
  }
}
