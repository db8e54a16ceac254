/// How far a straight run came.
enum InlineEnd {
  /// All stores finished, and nobody has a handle: the dispatch can be used again.
  case reusable
  /// It has ended, and its handles know how.
  case ended
  /// Steps at its scheduler go on with it, the last of which releases the scheduler; that may have happened.
  case goesOn
}

extension Dispatch {
  /// Runs store after store on this thread, as long as each ends at once, and then the completion.
  ///
  /// - Parameters:
  ///   - dispatch: To which the caller has the only reference, but for those of handles.
  ///   - action: The address of its action.
  ///   - first: The turn to begin with.
  ///   - ended: By place: how those before it ended; empty where they have finished.
  @inline(__always)
  static func runStraight(
    _ dispatch: inout Dispatch, at action: UnsafeRawPointer, from first: Int = 0,
    after ended: [StoreOutcome] = [], on thread: ThreadState
  ) -> InlineEnd {
    let light = thread.putLightAside()
    let outerAction = dispatch.enterContext(at: action, on: thread)
    var outcomes = ended
    let left = dispatch.runStores(action, from: first, &outcomes, on: thread)
    return leave(
      &dispatch, left, at: action, after: outcomes, outerAction: outerAction, light: light,
      on: thread)
  }

  /// Goes on with one that was made on the way, in its own context.
  ///
  /// - Parameter step: What has just become of the store at `place`.
  static func runStraight(
    _ dispatch: inout Dispatch, after step: StraightStep, at place: Int, of run: LightRun,
    at action: UnsafeRawPointer, on thread: ThreadState
  ) -> InlineEnd {
    var outcomes: [StoreOutcome] = []
    let left =
      dispatch.note(step, at: place, in: &outcomes)
      ? dispatch.runStores(action, from: place + 1, &outcomes, on: thread)
      : Left(turn: place, place: place, step: step)
    return leave(
      &dispatch, left, at: action, after: outcomes, outerAction: run.outerAction,
      light: run.around, on: thread)
  }

  /// Becomes the context of what runs here, until `leave`; the action that was around it.
  @inline(__always)
  func enterContext(
    at action: UnsafeRawPointer, on thread: ThreadState
  ) -> UnsafeRawPointer? {
    let outerAction = thread.action
    thread.action = action
    around = thread.context.take()
    thread.context = self
    return outerAction
  }

  /// Runs the completion where all stores have ended, and leaves the dispatch as a context.
  @inline(__always)
  private static func leave(
    _ dispatch: inout Dispatch, _ left: Left?, at action: UnsafeRawPointer,
    after outcomes: [StoreOutcome], outerAction: UnsafeRawPointer?,
    light: ThreadState.Light, on thread: ThreadState
  ) -> InlineEnd {
    dispatch.place = UInt16.max
    if isPlanted(.completionTwice), left != nil {
      dispatch.completion?.run { dispatch.makeResult(outcomes) }
    }
    if left == nil { dispatch.runCompletion(after: outcomes) }
    thread.context = dispatch.around.take()
    thread.action = outerAction
    thread.light = light
    return end(&dispatch, left, at: action, after: outcomes, on: thread)
  }

  @inline(__always)
  func runCompletion(after outcomes: [StoreOutcome]) {
    if let completion = takeCompletion() { completion.run { makeResult(outcomes) } }
  }

  /// Hands over what is left, or lets go of what has ended.
  @inline(__always)
  static func end(
    _ dispatch: inout Dispatch, _ left: Left?, at action: UnsafeRawPointer,
    after outcomes: [StoreOutcome], on thread: ThreadState
  ) -> InlineEnd {
    if let left {
      dispatch.goOn(from: left, action, after: outcomes, on: thread)
      return .goesOn
    }
    // In this order: once there is no other reference, nobody can add details.
    if outcomes.isEmpty, isKnownUniquelyReferenced(&dispatch), dispatch.details == nil {
      dispatch.clear()
      return .reusable
    }
    dispatch.tellEnd(dispatch.makeResult(outcomes))
    return .ended
  }

  /// What is left to others: a store that waits for something, and what comes after it.
  struct Left {
    /// Those before it have ended.
    let turn: Int
    let place: Int
    /// Its operation, or how it ended where only the telling of commits is left.
    let step: StraightStep
  }

  /// Outcomes are noted where one is not `finished`.
  @inline(__always)
  private func runStores(
    _ action: UnsafeRawPointer, from first: Int, _ outcomes: inout [StoreOutcome],
    on thread: ThreadState
  ) -> Left? {
    responders.unsafelyUnwrapped._withUnsafeGuaranteedRef { responders in
      let order = order(of: responders)
      for turn in first..<responders.count {
        let index = order?[turn] ?? turn
        place = UInt16(truncatingIfNeeded: index)
        let step =
          outcomeBeforeStart(at: index, outcomes)
          ?? responders.run(action, at: index, of: self, on: thread)
        guard note(step, at: index, in: &outcomes) else {
          return Left(turn: turn, place: index, step: step)
        }
      }
      return nil
    }
  }

  /// The order of a straight run, where it is not that of the places.
  @inline(__always)
  func order(of responders: Route) -> [Int]? {
    guard let order = responders.poolOrder,
      activeScheduler?.takeUnretainedValue().runsStoresConcurrently == true
    else { return nil }
    return order
  }

  /// Notes how a store ended; false where it has not.
  @inline(__always)
  func note(_ step: StraightStep, at index: Int, in outcomes: inout [StoreOutcome]) -> Bool {
    if details?.hasUntoldCommits == true { return false }
    switch step {
    case .finished:
      break
    case .ended(let outcome):
      if outcomes.isEmpty { outcomes = allFinished }
      outcomes[index] = outcome
    case .goesOn:
      return false
    }
    return true
  }

  @inline(__always)
  func outcomeBeforeStart(at place: Int, _ outcomes: [StoreOutcome]) -> StraightStep? {
    if details != nil, isCancelled { return .ended(.cancelled) }
    return outcomes.isEmpty ? nil : dependencyFailure(at: place, outcomes)
  }

  private func dependencyFailure(at place: Int, _ outcomes: [StoreOutcome]) -> StraightStep? {
    let responders = responders.unsafelyUnwrapped.takeUnretainedValue()
    let entry = responders.entries[place]
    guard !entry.waitFor.runsRegardless,
      let failed = responders.prerequisites?[place].first(where: { !outcomes[$0].isFinished })
    else { return nil }
    return .ended(
      .failed(
        DispatchError.dependencyFailed(
          entry.identifier, after: responders.entries[failed].identifier, outcomes[failed])))
  }

  /// By place: what outcomes are noted in.
  var allFinished: [StoreOutcome] {
    let responders = responders.unsafelyUnwrapped.takeUnretainedValue()
    return Array(repeating: .finished, count: responders.count)
  }

  /// The result of a straight run.
  ///
  /// - Parameter outcomes: By place; empty where all have finished.
  func makeResult(_ outcomes: [StoreOutcome]) -> DispatchResult {
    let identifiers = responders.unsafelyUnwrapped.takeUnretainedValue().identifiers
    return DispatchResult(transaction: id, identifiers: identifiers, outcomes: outcomes)
  }

  /// Lets those go on who wait for the end.
  func tellEnd(_ result: DispatchResult) {
    // Only where others take part already: whether a handle still exists depends on the compiler.
    if details != nil { yieldPoint(.notifyWaiters, id.description) }
    let details = handOverToEnd()
    clear()
    details.tellWaiters(result)
  }
}

extension Dispatch: CommitOwner {
  @usableFromInline
  func action<Model, Action>(in store: Store<Model, Action>) -> Action? {
    guard Int(place) != Self.noPlace, let responders = responders?.takeUnretainedValue(),
      responders.entries[Int(place)].store === store
    else { return nil }
    return ThreadState.current.action?.assumingMemoryBound(to: Action.self).pointee
  }

  @usableFromInline
  func commitLeft() {
    involve().commitLeft()
  }

  @usableFromInline
  func commitTold() {
    details?.commitTold()
  }
}
