/// From a straight run to a round.
extension Dispatch {
  /// Makes a round of what a straight run has left, and goes on with it.
  func goOn(
    from left: Left, _ address: UnsafeRawPointer, after outcomes: [StoreOutcome],
    on thread: ThreadState
  ) {
    if details != nil { yieldPoint(.continueInRound, on: thread, id.description) }
    let details = involve()
    if details.scheduler == nil { details.scheduler = SyncLoop.make(on: thread) }
    details.outer = details.outer ?? thread.context
    let responders = responders.unsafelyUnwrapped.takeUnretainedValue()
    var ended = [StoreOutcome?](repeating: nil, count: responders.count)
    for turn in 0..<left.turn {
      let place = order(of: responders)?[turn] ?? turn
      ended[place] = outcomes.isEmpty ? .finished : outcomes[place]
    }
    let round = makeRound(
      of: responders.entries[left.place].copyAction(at: address), details, ended: ended,
      started: left.place)
    if details.goOn(with: round, at: left.place) { round.cancel() }
    begin(round, after: left)
  }

  /// Makes a round of a straight run that has not begun, all of it cancelled.
  func makeCancelledRound(_ details: DispatchDetails) -> Round {
    let round = makeRound(of: action!, details)
    round.cancel()
    _ = round.begin()
    return round
  }

  /// - Parameters:
  ///   - ended: By place: how those ended that have.
  ///   - started: The place that has been started.
  private func makeRound(
    of action: @autoclosure () -> any ActionType, _ details: DispatchDetails,
    ended: [StoreOutcome?] = [], started: Int? = nil
  ) -> Round {
    let responders = responders.unsafelyUnwrapped.takeUnretainedValue()
    let hearing = hearing
    around = nil
    details.dispatcher = hearing?.told.dispatcher ?? scheduler.dispatcher
    if let hearing { details.mode = hearing.told.mode }
    let action = hearing?.action ?? action()
    let parts = responders.entries.map { entry in
      entry.makeStoreRun(of: action, waitFor: entry.waitFor)
    }
    hearing?.handOver(to: parts, of: responders.chain)
    let state = RoundState(
      stores: responders.identifiers, prerequisites: responders.prerequisites, ended: ended,
      started: started)
    return Round(
      of: self, id, parts: parts, state: state, chain: responders.chain, began: hearing?.began)
  }
}
