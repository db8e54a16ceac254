/// An admitted dispatch, with the actions before and after its scheduler gets it.
struct AdmittedDispatch {
  let dispatch: Dispatch
  let admission: DispatchAdmission?
  /// The dispatch whose block makes it, unless it is detached.
  let parent: Dispatch?
  let isInLane: Bool
  /// The dispatches that it replaces, once it is announced.
  private(set) var older: [Dispatch]?
  /// The delay; nil if the dispatch begins at once.
  let delay: (any DelayedStart)?

  /// Makes the dispatch known before a scheduler gets it.
  ///
  /// The scheduler may start it at once, and its block already finds it.
  ///
  /// A cancellation before the scheduler has it is noted, and takes effect in `enter`.
  mutating func announce(by dispatcher: Dispatcher) {
    guard let admission else { return }
    // A delayed dispatch can be ended as it is.
    if delay == nil { dispatch.makeDetails().withState { $0.awaitAcceptance() } }
    older = admission.announce(dispatch, of: dispatcher)
  }

  /// Called when the scheduler has the dispatch, or is about to run it on this thread.
  ///
  /// - Parameter startsHere: Whether this thread is about to run the dispatch, if nothing holds it back.
  func enter(by dispatcher: Dispatcher, startsHere: Bool = false) {
    if delay == nil, let admission {
      let isFound = admission.isFindable || admission.makesKnown
      if older != nil {
        // Another thread may already wait for this handle. It could not yet know what the dispatch would wait behind.
        if isFound { dispatch.accepted(isInLane: isInLane) } else { dispatch.endAcceptance() }
      } else if admission.makesKnown {
        dispatch.accepted(isInLane: !startsHere)
      }
    }
    admission?.entered(dispatch, of: dispatcher)
    for older in older ?? admission?.announce(dispatch, of: dispatcher) ?? [] { older.cancel() }
    if let parent { dispatch.join(parent) }
    if let details = dispatch.details {
      yieldPoint(.setTimer, dispatch.id.description)
      details.startTimer(if: { $0.needsTimer(startsHere: startsHere) }) { [dispatch] in
        dispatch.timerFired()
      }
    }
  }
}
