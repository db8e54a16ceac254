/// The wait of a block's task for the main actor, before it sends something with mode `mainThread`.
///
/// The task waits for the main queue before its dispatch exists. A record represents this wait in the wait graph.
/// Without it, the graph could not see that the block's own caller blocks the main queue.
struct MainQueueVisit {
  private let wait: WaitGraph.Wait

  /// Begins the wait.
  ///
  /// Nil outside of blocks: there the wait blocks nothing. Throws `wouldDeadlock`.
  init?(of dispatcher: Dispatcher, at callSite: CallSite) throws(DispatchError) {
    guard let context = DispatchContext.ofTask else { return nil }
    let errand = Dispatch(
      standIn: .make(on: .current), parent: context.dispatch.id, at: callSite)
    errand.makeDetails().scheduler = dispatcher.freeScheduler(of: .mainThread)
    wait = try WaitGraph.begin(context, on: errand)
  }

  /// Ends the wait: the task has reached the main actor.
  func end() {
    WaitGraph.end(wait)
  }
}
