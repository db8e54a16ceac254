/// Which dispatch waits for which, so that a wait that can't end is refused.
///
/// It records waits made from inside a dispatch only: no others can close a ring. One lock serves the
/// process, since handles are awaited across dispatchers. Lock order: the graph, then a lane or a
/// dispatch.
package enum WaitGraph {
  /// The dispatches that hold up the main queue while they wait.
  package final class MainHolders: Sendable {
    fileprivate let dispatches = Locked<[Dispatch]>([])

    package init() {}
  }

  private static let ofProcess = MainHolders()

  /// Of the process, or of the simulated world, which has another main queue.
  private static var mainHolders: Locked<[Dispatch]> {
    (ThreadState.current.simulated?.world.mainHolders ?? ofProcess).dispatches
  }

  /// A wait that was recorded.
  struct Wait {
    fileprivate let edges: [(waiter: Dispatch, target: Dispatch)]
    fileprivate let mainHolder: Dispatch?
  }

  /// Records the wait of a context, and of all that it holds up; throws `wouldDeadlock`.
  static func begin(
    _ context: DispatchContext, on target: Dispatch
  ) throws(DispatchError) -> Wait {
    var (outermost, holdsUpMainQueue) = (context, context.holdsUpMainQueue)
    while let outer = outermost.outer {
      outermost = outer
      holdsUpMainQueue = holdsUpMainQueue || outer.holdsUpMainQueue
    }
    return try begin(
      context, on: target, by: context.dispatch, holdsUpMainQueue: holdsUpMainQueue)
  }

  /// Records the wait of a `.sync` dispatch for those before it, which holds up its caller.
  ///
  /// On the main queue, the caller holds up everything scheduled there.
  static func begin(_ synchronous: Dispatch) throws(DispatchError) -> Wait {
    try begin(
      synchronous.outer, on: synchronous, by: synchronous.outer?.dispatch ?? synchronous,
      holdsUpMainQueue: MainQueue.isCurrent)
  }

  private static func begin(
    _ context: DispatchContext?, on target: Dispatch, by waiter: Dispatch, holdsUpMainQueue: Bool
  ) throws(DispatchError) -> Wait {
    var edges: [(waiter: Dispatch, target: Dispatch)] = []
    var next = context
    while let context = next {
      if context.dispatch !== edges.last?.waiter {
        edges.append((context.dispatch, edges.last?.waiter ?? target))
      }
      next = isPlanted(.outerForgotten) ? nil : context.outer
    }
    yieldPoint(.enterWait, target.id.description)
    return try mainHolders.withLock { mainHolders throws(DispatchError) in
      var search = Search(
        held: edges.map(\.waiter), holdsUpMainQueue: holdsUpMainQueue, mainHolders: mainHolders)
      if let found = search.find(target) { throw error(waiter, target, found) }
      for edge in edges { edge.waiter.makeDetails().waits.append(edge.target) }
      if holdsUpMainQueue { mainHolders.append(waiter) }
      return Wait(edges: edges, mainHolder: holdsUpMainQueue ? waiter : nil)
    }
  }

  static func end(_ wait: Wait) {
    yieldPoint(.leaveWait)
    mainHolders.withLock { mainHolders in
      if let index = mainHolders.lastIndex(where: { $0 === wait.mainHolder }) {
        mainHolders.remove(at: index)
      }
      for (waiter, target) in wait.edges {
        guard let details = waiter.details,
          let index = details.waits.firstIndex(where: { $0 === target })
        else { continue }
        details.waits.remove(at: index)
      }
    }
  }

  /// A dispatch that the wait holds up, and the scheduler where the search met it.
  private struct Found {
    let holder: Dispatch
    let scheduler: Scheduler
    /// Whether the holder needs the main queue, which the wait holds up.
    var needsMainQueue = false
  }

  private struct Search {
    let held: [Dispatch]
    let holdsUpMainQueue: Bool
    let mainHolders: [Dispatch]
    var seen: Set<ObjectIdentifier> = []

    private struct Step {
      let dispatch: Dispatch
      let scheduler: Scheduler
      /// Whether the search met it in its lane, and so with it those before it.
      var isOfLane = false
    }

    /// Searches what has to end before `dispatch` can for a dispatch that the wait holds up.
    mutating func find(_ dispatch: Dispatch) -> Found? {
      var path = [Step(dispatch: dispatch, scheduler: dispatch.schedulerForWaits)]
      while let step = path.popLast() {
        let dispatch = step.dispatch
        if held.contains(where: { $0 === dispatch }) {
          return Found(holder: dispatch, scheduler: step.scheduler)
        }
        guard dispatch.result == nil, seen.insert(ObjectIdentifier(dispatch)).inserted else {
          continue
        }
        // One that was cancelled while it waited ends without its scheduler.
        if dispatch.needsScheduler {
          if step.scheduler.needsMainQueue {
            if holdsUpMainQueue {
              return Found(holder: dispatch, scheduler: step.scheduler, needsMainQueue: true)
            }
            path += mainHolders.map { Step(dispatch: $0, scheduler: step.scheduler) }
          }
          if !step.isOfLane {
            path += step.scheduler.dispatches(before: dispatch).map {
              Step(dispatch: $0, scheduler: step.scheduler, isOfLane: true)
            }
          }
        }
        path += (dispatch.dispatchesBefore + (dispatch.details?.waits ?? [])).map {
          Step(dispatch: $0, scheduler: $0.schedulerForWaits)
        }
      }
      return nil
    }
  }

  private static func error(
    _ waiter: Dispatch, _ target: Dispatch, _ found: Found
  ) -> DispatchError {
    // For a `.sync` dispatch that waits for others, the message names the one that it would wait for.
    let target = target === waiter ? found.holder : target
    let holder = "dispatch \(found.holder.id) (\(found.holder.callSite))"
    let reason =
      if found.needsMainQueue {
        "\(found.scheduler.description) has to run \(holder), and the main queue is held up here"
      } else if target === waiter {
        "it is the dispatch that waits"
      } else {
        "\(found.scheduler.description) is held by \(holder)"
      }
    return DispatchError(
      code: .wouldDeadlock,
      message: """
        Dispatch \(waiter.id) (\(waiter.callSite)) would wait for ever for dispatch \(target.id) \
        (\(target.callSite)): \(reason). Chain them with a completion, use another lane, or don't \
        wait.
        """,
      callSites: [waiter.callSite, target.callSite])
  }
}
