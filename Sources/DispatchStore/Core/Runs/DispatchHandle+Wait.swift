import Dispatch
import Synchronization

extension DispatchHandle {
  /// Blocks this thread until the dispatch has ended: its completion has run.
  ///
  /// Call it from your own threads and from synchronous code in a block; asynchronous code awaits `result`. Meanwhile
  /// the dispatch gets a thread if it needs one. If the dispatch itself waits for the calling code, the wait ends at
  /// once, with the error `wouldDeadlock`. Do not call it inside an exclusive section.
  ///
  /// - Returns: How the dispatch ended.
  @available(*, noasync, message: "Await `result`.")
  @discardableResult
  public func wait(fileID: StaticString = #fileID, line: UInt = #line) -> DispatchResult {
    guard let dispatch else { return resultIfEnded! }
    return dispatch.wait(for: nil, at: CallSite(fileID, line))!
  }

  /// Blocks this thread until the dispatch has ended, or for a limited time.
  ///
  /// The dispatch continues after the limit. Until then, other waits that would close a cycle through this one end with
  /// `wouldDeadlock`, although this one ends by itself.
  ///
  /// - Parameters:
  ///   - limit: The longest time to block the thread. If it is zero or less, the thread is not blocked.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  /// - Returns: How the dispatch ended; nil if it has not ended yet.
  @available(*, noasync, message: "Await `result`.")
  public func wait(
    for limit: Duration, fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchResult? {
    guard let dispatch else { return resultIfEnded }
    return dispatch.wait(for: limit, at: CallSite(fileID, line))
  }

  /// Calls a closure once the dispatch has ended.
  ///
  /// The closure runs after the completion, on a thread of the library, even while the queue is suspended. If the
  /// dispatch has already ended, it runs at once on this thread. Each closure is called once; closures of one handle
  /// may be called at the same time.
  public func whenEnded(_ body: @escaping @Sendable (DispatchResult) -> Void) {
    guard let dispatch, dispatch.result == nil else { return body(resultIfEnded!) }
    let workers = dispatch.schedulerForWaits.workers
    // The dispatch may have ended since the check above, and then has no scheduler.
    if workers == nil, let result = dispatch.result { return body(result) }
    let continuations = workers?.continuations
    continuations?.add(dispatch)
    dispatch.whenEnded {
      let step: @Sendable () -> Void = {
        body(dispatch.result!)
        continuations?.remove(dispatch.id)
      }
      let thread = ThreadState.current
      // A dispatch that was just ending had no scheduler: then the thread that has ended it says where to go on.
      if let pool = workers ?? thread.worker?.pool {
        pool.submit(end: .step(step))
      } else if let world = thread.simulated?.world {
        world.run(.job, step)
      } else {
        DispatchQueue.global().async(execute: step)
      }
    }
  }
}

extension Dispatch {
  /// Blocks this thread until the dispatch has ended; returns nil if the limit has passed.
  fileprivate func wait(for limit: Duration?, at callSite: CallSite) -> DispatchResult? {
    if let result { return result }
    let thread = ThreadState.current
    ExclusiveSection.checkWait(on: thread, at: callSite)
    if let limit, limit <= .zero { return nil }
    if let error = BlockingRegion.refusal(on: thread, at: callSite) {
      return DispatchResult(dispatchID: id, error: error)
    }
    // Represents this wait, in the graph and in messages, as a dispatch without an action.
    let waiter = Dispatch(
      standIn: .make(on: thread), parent: DispatchContext.currentTransaction(on: thread),
      at: callSite)
    waiter.wait(for: [self])
    waiter.makeDetails().scheduler = CallerThread.any
    waiter.outer = DispatchContext.blocked(on: thread)
    let wait: WaitGraph.Wait?
    do {
      wait = try WaitGraph.begin(waiter)
    } catch {
      return DispatchResult(dispatchID: id, error: error)
    }
    defer { if let wait { WaitGraph.end(wait) } }
    block(thread, for: limit, waiter)
    return result
  }

  private func block(_ thread: ThreadState, for limit: Duration?, _ waiter: Dispatch) {
    let ended = DispatchSemaphore(value: 0)
    whenEnded(for: waiter) { ended.signal() }
    // So that this dispatch forgets a wait whose limit has passed.
    defer { waiter.makeDetails().hasEnded.store(true, ordering: .releasing) }
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
    _ = ended.wait(timeout: .now() + .nanoseconds(Int(limit.wholeNanoseconds)))
  }
}
