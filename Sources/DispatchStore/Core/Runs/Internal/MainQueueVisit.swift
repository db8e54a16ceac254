/// The way to the main actor of a block's task that sends something with mode `mainThread`.
///
/// The task waits for the main queue before there is a dispatch that could: a record stands for that in the graph of
/// waits, which else would not see that the block's own caller holds up the main queue.
struct MainQueueVisit {
  private let wait: WaitGraph.Wait

  /// Nil outside of blocks, where the wait holds nothing up; throws `wouldDeadlock`.
  init?(of dispatcher: Dispatcher, at callSite: CallSite) throws(DispatchError) {
    guard let context = DispatchContext.ofTask else { return nil }
    let errand = Dispatch()
    errand.begin(
      .make(on: .current), parent: context.dispatch.id, to: nil, nil, callSite)
    errand.makeDetails().scheduler = dispatcher.freeScheduler(of: .mainThread)
    wait = try WaitGraph.begin(context, on: errand)
  }

  /// The task is there.
  func end() {
    WaitGraph.end(wait)
  }
}
