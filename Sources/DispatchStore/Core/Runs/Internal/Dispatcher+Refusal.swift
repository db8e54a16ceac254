// Dispatches that run nothing. They have a result all the same, and their completions run.
extension Dispatcher {
  /// Ends a dispatch that was not admitted.
  ///
  /// No hook was called, and none will be.
  ///
  /// The completion runs on a thread of the library; for `.sync` and in tasks it runs here. Without a completion
  /// nothing is enqueued. `PendingEnds` bounds the number of such dispatches that are enqueued.
  @inline(never)
  func endUnadmitted(
    _ dispatch: Dispatch, with error: any Error, _ mode: Mode
  ) -> DispatchHandle {
    let result = dispatch.resultBeforeStart(error)
    dispatch.leaveScheduler()
    // A later cancellation finds nothing to do, and needs no scheduler.
    let details = dispatch.makeDetails()
    details.beginEnding()
    // Keys and units are not held for it until its completion has run: it begins nothing.
    for release in details.withState({ $0.takeReleases() }) { release() }
    if mode.isSync || dispatch.completion == nil {
      dispatch.complete(result)
    } else {
      pool.runSurplusEnds(on: .current)
      pool.resumeEnd { dispatch.complete(result) }
    }
    return DispatchHandle(dispatch)
  }

  /// Makes a `.sync` or sent dispatch that ends at once, on its route.
  @inline(never)
  func makeRefused(
    along route: Unmanaged<Route>, with error: any Error, _ completion: Completion?,
    _ callSite: CallSite, on thread: ThreadState
  ) -> DispatchHandle {
    let dispatch = Dispatch()
    setUp(dispatch, to: route, .sync, DispatchOptions(), completion, callSite, on: thread)
    return endUnadmitted(dispatch, with: error, .sync)
  }

  /// Returns the result of a dispatch that a task sends to a place that it can't reach, or from a section that was
  /// undone.
  func refuseSend(
    of type: any ActionType.Type, to storeIdentifier: String?, with error: any Error,
    _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchResult {
    let thread = ThreadState.current
    let route = route(to: type, identifier: storeIdentifier, on: thread)
    return makeRefused(along: route, with: error, completion, callSite, on: thread).resultIfEnded!
  }

  /// Makes a dispatch that can't run, on no route.
  ///
  /// It ends here, at the latest when this thread leaves its exclusive section.
  func makeFailed(
    with error: DispatchError, _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle {
    let thread = ThreadState.current
    let dispatch = Dispatch()
    setUp(dispatch, to: nil, .sync, DispatchOptions(), completion, callSite, on: thread)
    if thread.isInSection {
      dispatch.makeDetails().withState { $0.awaitAcceptance() }
      thread.atSectionEnd { _ in dispatch.fail(with: error) }
    } else {
      dispatch.fail(with: error)
    }
    return DispatchHandle(dispatch)
  }
}
