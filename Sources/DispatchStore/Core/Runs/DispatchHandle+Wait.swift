import Dispatch

extension DispatchHandle {
  /// Blocks this thread until the dispatch has ended: its completion has run.
  ///
  /// For threads of the program's own, and for synchronous code in a block; asynchronous code awaits `result`.
  /// What the dispatch needs gets a thread meanwhile. Where it waits itself for the code that calls this, the
  /// wait ends at once, with the error `wouldDeadlock`. Not to be called inside an exclusive section.
  ///
  /// - Returns: How the dispatch ended.
  @available(*, noasync, message: "Await `result`.")
  @discardableResult
  public func wait(fileID: StaticString = #fileID, line: UInt = #line) -> DispatchResult {
    guard let dispatch else { return resultIfEnded! }
    return dispatch.wait(for: nil, at: CallSite(fileID: fileID, line: line))!
  }

  /// The same with a limit, after which the dispatch goes on.
  ///
  /// - Parameters:
  ///   - limit: For so long the thread is blocked at most; not at all where it is zero or less.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: How the dispatch ended; nil where it has not.
  @available(*, noasync, message: "Await `result`.")
  public func wait(
    for limit: Duration, fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchResult? {
    guard let dispatch else { return resultIfEnded }
    return dispatch.wait(for: limit, at: CallSite(fileID: fileID, line: line))
  }

  /// Calls a closure once the dispatch has ended: after its completion, and, unless it has timed out, after its lane was
  /// released.
  ///
  /// On the concurrent queue, also where that is suspended; where the dispatch has ended, at once on this
  /// thread. Each closure is called once; closures of one handle may be called at the same time.
  public func whenEnded(_ body: @escaping @Sendable (DispatchResult) -> Void) {
    guard let dispatch, dispatch.result == nil else { return body(resultIfEnded!) }
    let workers = dispatch.schedulerForWaits.workers
    // It may have ended meanwhile, and has no scheduler then.
    if workers == nil, let result = dispatch.result { return body(result) }
    dispatch.whenEnded {
      let step: @Sendable () -> Void = { body(dispatch.result!) }
      if let workers { workers.resume(step) } else { DispatchQueue.global().async(execute: step) }
    }
  }
}

extension Dispatch {
  /// Nil where the limit has passed.
  fileprivate func wait(for limit: Duration?, at callSite: CallSite) -> DispatchResult? {
    if let result { return result }
    let thread = ThreadState.current
    ExclusiveSection.checkWait(on: thread, at: callSite)
    if let limit, limit <= .zero { return nil }
    if let error = BlockingRegion.refusal(on: thread, at: callSite) {
      return DispatchResult(transaction: id, error: error)
    }
    // The wait of a dispatch of no action: in the graph, and in messages.
    let waiter = Dispatch()
    waiter.begin(
      .make(on: thread), parent: DispatchContext.currentTransaction(on: thread), to: nil, nil,
      callSite)
    waiter.wait(for: [self])
    waiter.makeDetails().scheduler = CallerThread.any
    waiter.keep(outer: DispatchContext.blocked(on: thread))
    let wait: WaitGraph.Wait?
    do {
      wait = try WaitGraph.begin(waiter)
    } catch {
      return DispatchResult(transaction: id, error: error)
    }
    defer { if let wait { WaitGraph.end(wait) } }
    block(thread, for: limit)
    return result
  }

  private func block(_ thread: ThreadState, for limit: Duration?) {
    let ended = DispatchSemaphore(value: 0)
    whenEnded { ended.signal() }
    let region = BlockingRegion(on: thread, for: schedulerForWaits.sharedQueue)
    defer { region.end() }
    if let simulated = thread.simulated {
      let deadline = Locked(false)
      if let limit { simulated.world.call(after: limit) { deadline.withLock { $0 = true } } }
      return simulated.wait(for: "the end of a dispatch") {
        self.hasEnded || deadline.withLock { $0 }
      }
    }
    guard let limit else { return ended.wait() }
    _ = ended.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
  }
}
