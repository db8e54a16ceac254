extension InlineRun.Address {
  /// Runs a `.sync` dispatch.
  ///
  /// Most go to stores that only reduce. `reduce` takes the action to these, one after the other.
  @inline(__always)  // with `reduce`, 15 % of `sync-reduction`
  func runHere(on thread: ThreadState) -> DispatchHandle {
    thread.run = self
    let position = reduce(on: thread)
    guard pointee.isDone(at: position) else {
      return endHere(finishRun(from: position, on: thread), on: thread)
    }
    thread.run = pointee.outer
    return endFinished()
  }

  /// Takes the action to the first stores, which only reduce and need no record.
  ///
  /// Returns the position of the next store, which may have begun.
  @inline(__always)
  private func reduce(on thread: ThreadState) -> Int {
    guard pointee.isPlain else { return 0 }
    let action = pointee.action
    return pointee.route._withUnsafeGuaranteedRef { route in
      for position in 0..<route.reductionCount {
        switch route.reduce(action, at: position, on: thread) {
        case .finished?: continue
        case nil:
          pointee.index = position
          pointee.noteBegun(route.reduceObserved(action, at: position, on: thread))
        case let failed?: pointee.noteBegun(failed)
        }
        return position
      }
      return route.reductionCount
    }
  }

  /// Runs a dispatch that its scheduler has started.
  ///
  /// - Parameter record: The caller's only reference.
  func run(_ record: inout Dispatch, on thread: ThreadState) -> InlineEnd {
    thread.run = self
    return end(&record, finishRun(from: 0, on: thread), on: thread)
  }

  /// Continues with the stores from a position.
  ///
  /// Runs the completion once all have ended.
  @inline(never)
  private func finishRun(from position: Int, on thread: ThreadState) -> InlineRemainder? {
    let remainder = runStores(from: position, on: thread)
    pointee.index = InlineRun.noStore
    if remainder == nil {
      complete(on: thread)
    } else if isPlanted(.completionTwice) {
      pointee.takeCompletion()?.run(pointee.result)
    }
    thread.run = pointee.outer
    return remainder
  }

  private func runStores(
    from first: Int, on thread: ThreadState
  ) -> InlineRemainder? {
    pointee.route._withUnsafeGuaranteedRef { route in
      let isAtomic = pointee.isAtomic
      let isFirst = first == 0 && route.count > 0
      if isFirst, needsRound(for: route, isAtomic: isAtomic) { return .all }
      if isAtomic { return runAtomically(route, on: thread) }
      if isFirst, pointee.isUndisturbed { pointee.noteFirstStart() }
      return runStores(along: route, from: first, on: thread)
    }
  }

  /// Whether all stores are left to a round.
  private func needsRound(for route: Route, isAtomic: Bool) -> Bool {
    if isAtomic, pointee.mayRetry { return true }
    let endsApart = route.endGate != nil || route.count > 1 && pointee.mayEndEarly
    return (endsApart || !isAtomic && pointee.needsConcurrency) && !pointee.isCancelled
  }

  /// Runs store after store, as long as each ends at once.
  private func runStores(
    along route: Route, from first: Int, on thread: ThreadState
  ) -> InlineRemainder? {
    var first = first
    if let begun = pointee.begun.take() {
      guard end(begun, at: first, of: route, startedAt: nil, isLast: first + 1 == route.count)
      else {
        return InlineRemainder(index: first, begun: begun)
      }
      first += 1
    }
    for index in first..<route.count {
      pointee.index = index
      let skippedCount = pointee.skippedCount
      let step: InlineStep
      var startedAt: Int64?
      if pointee.isUndisturbed {
        step = route.answer(pointee.action, at: index, in: self, on: thread)
      } else if let answer = answer(at: index, of: route, &startedAt, on: thread) {
        step = answer
      } else {
        return InlineRemainder(index: index, begun: nil)
      }
      if case .finished = step, pointee.isUndisturbed { continue }
      let isSkipped = pointee.skippedCount > skippedCount
      if isSkipped { startedAt = nil }
      let failed = if case .ended(.failed) = step { !isSkipped } else { false }
      guard !(failed && pointee.mayRetry),
        end(step, at: index, of: route, startedAt: startedAt, isLast: index + 1 == route.count)
      else {
        return InlineRemainder(index: index, begun: step, startedAt: startedAt)
      }
    }
    return nil
  }

  /// Returns the answer of a store that may be skipped, because of a verdict, an earlier failure or a cancellation.
  ///
  /// Nil if the store runs although the dispatch is cancelled. A round then runs it, and does not cancel it.
  ///
  /// - Parameter startedAt: Set to the store's start, if hooks get it.
  private func answer(
    at index: Int, of route: Route, _ startedAt: inout Int64?, on thread: ThreadState
  ) -> InlineStep? {
    let reply = pointee.session?._withUnsafeGuaranteedRef { $0.reply(at: index) }
    if let decided = reply?.outcome { return pointee.skip(decided) }
    let isCancelled = pointee.isCancelled
    if !isCancelled, !pointee.outcomes.isEmpty,
      let error = route.dependencyFailure(at: index, pointee.outcomes)
    {
      return pointee.skip(.failed(error))
    }
    if isCancelled || !pointee.claimStoreStart() {
      // All stores before it have ended; unless all were skipped, one has started.
      return index > pointee.skippedCount && route.runsRegardless[index]
        ? nil : pointee.skip(.cancelled(hasStarted: false))
    }
    startedAt = pointee.session?._withUnsafeGuaranteedRef { $0.start(index) }
    guard let reply else { return route.answer(pointee.action, at: index, in: self, on: thread) }
    let dispatched = pointee.action
    defer { pointee.action = dispatched }
    return withAddress(of: reply.action) { address in
      pointee.action = address
      return route.answer(address, at: index, in: self, on: thread)
    }
  }

  /// Notes how a store ended and calls `didDispatch`; returns false if it has not ended.
  ///
  /// - Parameter startedAt: The time at which the store got the action, if hooks get it; nil if it did not.
  func end(
    _ step: InlineStep, at index: Int, of route: Route, startedAt: Int64?, isLast: Bool
  ) -> Bool {
    if pointee.record?._withUnsafeGuaranteedRef(\.hasUndeliveredCommits) == true { return false }
    guard let outcome = step.outcome else { return false }
    if !outcome.isFinished { pointee.note(outcome, at: index, of: route) }
    pointee.index = InlineRun.noStore
    if isLast { pointee.record?._withUnsafeGuaranteedRef { $0.settleDeadline() } }
    pointee.session?._withUnsafeGuaranteedRef {
      $0.didDispatch(outcome, at: index, along: route, startedAt: startedAt)
    }
    return true
  }

  private func complete(on thread: ThreadState) {
    pointee.record?._withUnsafeGuaranteedRef { $0.storesEnded { pointee.result } }
    if let completion = pointee.takeCompletion() { completion.run(pointee.result) }
    guard let session = pointee.session.take() else { return }
    session._withUnsafeGuaranteedRef { if $0.hasWholes { end($0, on: thread) } }
    MiddlewareSession.end(session, on: thread)
  }

  /// Calls the hooks of the whole dispatch, and begins its followers.
  @inline(never)
  private func end(_ session: MiddlewareSession, on thread: ThreadState) {
    if session.followers.isEmpty {
      return session.dispatchEnded(pointee.publishedResult, of: pointee.record)
    }
    // Read once: an early end may be published at any time.
    let published = pointee.publishedResult
    session.dispatchEnded(published, of: pointee.record)
    let ended = EndedDispatch(session, published, ofStores: pointee.result) {
      let record = pointee.makeRecord(on: thread)
      if !pointee.isQueued {
        record.link(to: DispatchContext.linkedBlock(from: pointee.outer, on: thread))
      }
      return record.whole.makeDetails()
    }
    for follower in session.followers { follower.dispatchEnded(ended) }
  }

  // MARK: The end

  @inline(__always)
  private func endFinished() -> DispatchHandle {
    pointee.route._withUnsafeGuaranteedRef { route in
      let handle = DispatchHandle(finished: pointee.dispatchID, route)
      route.end()
      return handle
    }
  }

  /// Ends a `.sync` dispatch.
  ///
  /// If it did not simply finish, it gets a record.
  private func endHere(_ remainder: InlineRemainder?, on thread: ThreadState) -> DispatchHandle {
    if pointee.record == nil {
      if remainder == nil, pointee.hasFinished { return endFinished() }
      _ = pointee.makeRecord(on: thread)
    }
    let finished = pointee.route._withUnsafeGuaranteedRef {
      DispatchHandle(finished: pointee.dispatchID, $0)
    }
    var record = pointee.record.take().unsafelyUnwrapped.takeRetainedValue()
    switch end(&record, remainder, on: thread) {
    case .reusable:
      thread.spareDispatches.push(record)
      return finished
    case .ended:
      pointee.task?.release(record)
    case .continues:
      if !pointee.continuesInTask {
        (record.details?.scheduler as? SyncLoop)?.runToEnd(of: record, on: thread)
      }
    }
    return DispatchHandle(record)
  }

  private func end(
    _ record: inout Dispatch, _ remainder: InlineRemainder?, on thread: ThreadState
  ) -> InlineEnd {
    if let remainder {
      continueInRound(with: record, from: remainder, on: thread)
      return .continues
    }
    record.yieldBeforeEnd()
    // In this order: once there is no other reference, no other thread can make details.
    if pointee.hasFinished, pointee.task == nil, isUniquelyReferencedForReuse(&record),
      record.isReusable
    {
      record.clear()
      if record.hasDetails { record.releaseDetails() }
      return .reusable
    }
    record.end(pointee.result(of: record))
    return .ended
  }
}
