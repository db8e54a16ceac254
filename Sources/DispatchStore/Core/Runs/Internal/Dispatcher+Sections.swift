// Dispatches from inside an exclusive section. The record is made there, with its identifier, parent and task-local
// values. It is accepted at the section's end, since hooks and reducers may read the store.
extension Dispatcher {
  /// Makes a dispatch that is accepted when this thread leaves its exclusive section.
  func makeInSection(
    _ subject: DispatchSubject, _ mode: Mode, _ options: DispatchOptions,
    _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle {
    let dispatch = Dispatch()
    setUp(dispatch, to: nil, mode, DispatchOptions(), completion, callSite, on: thread)
    dispatch.makeDetails().withState { $0.awaitAcceptance() }
    let terms = DispatchTerms(options, mode, of: self, on: thread, dispatch)
    thread.atSectionEnd { isUndone in
      self.sectionEnded(isUndone, dispatch, subject, terms, mode, options, on: thread)
    }
    return DispatchHandle(dispatch)
  }

  /// Accepts a dispatch that was made in an exclusive section, which this thread has left.
  private func sectionEnded(
    _ isUndone: Bool, _ dispatch: Dispatch, _ subject: DispatchSubject, _ terms: DispatchTerms,
    _ mode: Mode, _ options: DispatchOptions, on thread: ThreadState
  ) {
    let details = dispatch.makeDetails()
    guard !details.withState(\.isCancelled), !isUndone else {
      pool.resumeEnd {
        let error: any Error = dispatch.refusal ?? CancellationError()
        dispatch.complete(DispatchResult(dispatchID: dispatch.id, error: error))
      }
      return
    }
    // This route keeps it accepted, also if the dispatcher is shut down meanwhile. Only what admission control makes known
    // has its stores already: any other gets them once it is admitted.
    let known = terms.admission?.makesKnown == true ? subject.action : nil
    dispatch.route = route(
      to: known.map { type(of: $0) } ?? WorkAcceptance.self,
      identifier: known == nil ? nil : subject.storeIdentifier, on: thread)
    var admitted: AdmittedDispatch?
    do {
      if let error = dispatch.refusalOfRoute { throw error }
      if !options.after.isEmpty { dispatch.wait(for: options.unended) }
      if let action = subject.action { dispatch.put(action) }
      admitted = try admit(dispatch, terms, mode)
    } catch {
      _ = endUnadmitted(dispatch, with: error, mode)
      return
    }
    if let admitted, let delay = admitted.delay {
      dispatch.endAcceptance()
      return delay.begin(admitted, subject, by: self, in: nil, on: thread)
    }
    admitted?.announce(by: self)
    // A dispatch that its hook cancelled is skipped by its lane, which may have been removed since.
    withExtendedLifetime(accept(dispatch, subject, mode, on: thread)) {
      // The caller already has its handle.
      dispatch.accepted(isInLane: !mode.isAsync)
      admitted?.enter(by: self)
    }
  }
}
