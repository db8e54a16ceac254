/// A straight run where there are middlewares.
extension Dispatch {
  /// What its middlewares heard; before a straight run, nothing else is around it.
  var hearing: Hearing? {
    @inline(__always) get { around.map { unsafeDowncast($0, to: Hearing.self) } }
  }

  /// Tells the middlewares of the action that it keeps, before anything is scheduled.
  func tellMiddlewares(
    by dispatcher: Dispatcher, in mode: Dispatcher.Mode, on thread: ThreadState
  ) {
    tellMiddlewares(of: action!, by: dispatcher, in: mode, on: thread)
  }

  /// The same for a `.sync` dispatch, of the action at an address.
  func tellMiddlewares(
    of action: UnsafeRawPointer, by dispatcher: Dispatcher, on thread: ThreadState
  ) {
    let entries = responders.unsafelyUnwrapped.takeUnretainedValue().entries
    tellMiddlewares(of: entries[0].copyAction(at: action), by: dispatcher, in: .sync, on: thread)
  }

  private func tellMiddlewares(
    of action: any ActionType, by dispatcher: Dispatcher, in mode: Dispatcher.Mode,
    on thread: ThreadState
  ) {
    let hearing = Hearing(of: self, action, by: dispatcher, in: mode)
    hearing.tellWill(responders.unsafelyUnwrapped.takeUnretainedValue(), on: thread)
    around = hearing
  }

  /// Runs store after store, each followed by its `didDispatch`.
  @inline(never)
  static func runHeard(
    _ dispatch: inout Dispatch, at action: UnsafeRawPointer, on thread: ThreadState
  ) -> InlineEnd {
    var outcomes: [StoreOutcome] = []
    let left = dispatch.runHeardStores(action, &outcomes, on: thread)
    return end(&dispatch, left, at: action, after: outcomes, on: thread)
  }

  private func runHeardStores(
    _ action: UnsafeRawPointer, _ outcomes: inout [StoreOutcome], on thread: ThreadState
  ) -> Left? {
    let (hearing, outerAction) = (hearing.unsafelyUnwrapped, thread.action)
    let light = thread.putLightAside()
    let responders = responders.unsafelyUnwrapped.takeUnretainedValue()
    hearing.around = thread.context.take()
    thread.context = self
    defer {
      place = UInt16.max
      thread.context = hearing.around.take()
      thread.action = outerAction
      thread.light = light
    }
    let order = order(of: responders)
    for turn in 0..<responders.count {
      let index = order?[turn] ?? turn
      place = UInt16(truncatingIfNeeded: index)
      let step = run(responders, at: index, action, hearing.reply(at: index), outcomes, on: thread)
      guard note(step, at: index, in: &outcomes) else {
        return Left(turn: turn, place: index, step: step)
      }
      place = UInt16.max
      let outcome = outcomes.isEmpty ? .finished : outcomes[index]
      hearing.tellDid(outcome, at: index, of: responders, on: thread)
    }
    runCompletion(after: outcomes)
    // It refers to the dispatch, that is to be used again.
    around = nil
    return nil
  }

  private func run(
    _ responders: Route, at index: Int, _ action: UnsafeRawPointer,
    _ reply: MiddlewareChain.Reply?, _ outcomes: [StoreOutcome], on thread: ThreadState
  ) -> StraightStep {
    if let decided = reply?.outcome { return .ended(decided) }
    if let step = outcomeBeforeStart(at: index, outcomes) { return step }
    func run(_ action: UnsafeRawPointer) -> StraightStep {
      thread.action = action
      return responders.run(action, at: index, of: self, on: thread)
    }
    return reply.map { withAddress(of: $0.action, run) } ?? run(action)
  }
}
