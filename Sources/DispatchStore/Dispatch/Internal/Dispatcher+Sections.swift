// Dispatches from inside an exclusive section. The record is made there, with its identifier, parent and
// task-local values; it is accepted when the section is left, since hooks and reducers may read the store.
extension Dispatcher {
  /// Makes a dispatch that is accepted when the exclusive section of this thread is left.
  ///
  /// - Parameter accept: Takes it to its stores or actions, schedules it, and returns its scheduler; not called
  ///   where it was cancelled before.
  func makeInSection(
    _ mode: Mode, _ options: DispatchOptions, _ completion: Completion?, _ callSite: CallSite,
    on thread: ThreadState, _ accept: @escaping (Dispatch) -> Scheduler
  ) -> DispatchHandle {
    let dispatch = makeUnaccepted(mode, completion, callSite, on: thread)
    thread.atSectionEnd { [self] in
      let details = dispatch.makeDetails()
      guard !details.withState(\.isCancelled) else {
        pool.resume {
          dispatch.complete(DispatchResult(transaction: dispatch.id, error: CancellationError()))
        }
        return
      }
      if !options.after.isEmpty { dispatch.wait(for: options.unended) }
      let scheduler = dispatch.bound { accept(dispatch) }
      // One that its hook cancelled is skipped by its lane, which may have retired since.
      withExtendedLifetime(scheduler) {
        // Whatever began to wait for it before could not see what it would be behind.
        let mayWait = !mode.isAsync || !options.after.isEmpty
        dispatch.endAcceptance(refusing: mayWait ? WaitGraph.ring(around: dispatch)?.error : nil)
      }
    }
    return DispatchHandle(dispatch)
  }

  /// Makes a dispatch that can't run; it ends when the exclusive section of this thread is left.
  func refuseInSection(
    _ error: DispatchError, _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle {
    let dispatch = makeUnaccepted(.sync, completion, callSite, on: thread)
    thread.atSectionEnd { dispatch.fail(with: error) }
    return DispatchHandle(dispatch)
  }

  private func makeUnaccepted(
    _ mode: Mode, _ completion: Completion?, _ callSite: CallSite, on thread: ThreadState
  ) -> Dispatch {
    let dispatch = Dispatch()
    begin(dispatch, to: nil, mode, DispatchOptions(), completion, callSite, on: thread)
    dispatch.makeDetails().withState { $0.awaitAcceptance() }
    return dispatch
  }
}
