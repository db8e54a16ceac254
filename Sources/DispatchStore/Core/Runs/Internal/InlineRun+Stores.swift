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
    guard !pointee.followsStores else { return 0 }
    let action = pointee.action
    return pointee.route._withUnsafeGuaranteedRef { route in
      for position in 0..<route.reductionCount {
        switch route.reduce(action, at: position, on: thread) {
        case .finished?: continue
        case nil:
          pointee.index = position
          pointee.begun = route.reduceObserved(action, at: position, on: thread)
        case let failed?: pointee.begun = failed
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
      if first == 0, route.count > 0 {
        if needsRound(for: route) { return .all }
        if !pointee.followsStores { pointee.noteFirstStart() }
      }
      return runStores(along: route, from: first, on: thread)
    }
  }

  /// Whether all stores are left to a round.
  private func needsRound(for route: Route) -> Bool {
    let isAtomic = pointee.record?._withUnsafeGuaranteedRef { $0.isAtomic(along: route) }
    return isAtomic ?? route.isAtomic || route.endGate != nil || pointee.hasReplies
      || pointee.needsConcurrency || route.count > 1 && pointee.mayEndEarly
  }

  /// Runs store after store, as long as each finishes at once.
  private func runStores(
    along route: Route, from first: Int, on thread: ThreadState
  ) -> InlineRemainder? {
    var first = first
    if let begun = pointee.begun.take() {
      guard end(begun, at: first, of: route, startedAt: nil) else {
        return InlineRemainder(index: first, begun: begun)
      }
      first += 1
    }
    for index in first..<route.count {
      pointee.index = index
      var startedAt: Int64?
      if !pointee.isUndisturbed {
        // A round knows which stores run regardless.
        if pointee.isCancelled || !pointee.claimStoreStart() {
          return InlineRemainder(index: index, begun: nil)
        }
        startedAt = pointee.session?._withUnsafeGuaranteedRef { $0.start(index) }
      }
      let step = route.answer(pointee.action, at: index, in: self, on: thread)
      if case .finished = step, pointee.isUndisturbed { continue }
      guard end(step, at: index, of: route, startedAt: startedAt) else {
        return InlineRemainder(index: index, begun: step, startedAt: startedAt)
      }
    }
    return nil
  }

  /// Calls `didDispatch` for a store; returns false if it has not finished, or if its commits are not delivered.
  ///
  /// - Parameter startedAt: The time at which the store got the action, if hooks get it.
  private func end(
    _ step: InlineStep, at index: Int, of route: Route, startedAt: Int64?
  ) -> Bool {
    guard case .finished = step,
      pointee.record?._withUnsafeGuaranteedRef(\.hasUndeliveredCommits) != true
    else { return false }
    pointee.index = InlineRun.noStore
    if index + 1 == route.count {
      pointee.record?._withUnsafeGuaranteedRef { $0.settleDeadline() }
    }
    pointee.session?._withUnsafeGuaranteedRef {
      $0.didDispatch(.finished, at: index, along: route, startedAt: startedAt)
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
