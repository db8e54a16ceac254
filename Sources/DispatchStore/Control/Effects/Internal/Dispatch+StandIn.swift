extension Dispatch {
  /// Makes a dispatch without stores that stands for an effect's run or a group; nil if the dispatcher accepts
  /// nothing.
  ///
  /// The stand-in runs until `end`, and is counted as under way for that time.
  static func standIn(
    _ id: DispatchID, parent: DispatchID?, _ callSite: CallSite, of dispatcher: Dispatcher,
    on thread: ThreadState
  ) -> Dispatch? {
    let route = dispatcher.route(to: WorkAcceptance.self, identifier: nil, on: thread)
    guard route._withUnsafeGuaranteedRef({ !$0.hasFailed }) else {
      route._withUnsafeGuaranteedRef { $0.end() }
      return nil
    }
    let standIn = Dispatch()
    standIn.setUp(id, parent: parent, to: route, nil, callSite)
    standIn.beginHere(inside: nil)
    standIn.enter(dispatcher.pool)
    _ = standIn.makeDetails()
    return standIn
  }
}
