/// Who waits for whom among dispatches, so that a wait that can't end is refused.
///
/// Only waits made from inside a dispatch are entered: no others can close a ring. One lock serves the
/// process, since handles are awaited across dispatchers. Lock order: the graph, then a lane or a
/// dispatch.
enum WaitGraph {
  private static let lock = Locked<Void>(())

  /// A wait that was entered.
  struct Wait {
    fileprivate let edges: [(waiter: Dispatch, target: Dispatch)]
  }

  /// Enters the wait of a context, and of all that it holds up; throws `wouldDeadlock`.
  static func begin(
    _ context: DispatchContext, on target: Dispatch
  ) throws(DispatchError) -> Wait {
    try begin(context, on: target, by: context.dispatch, holdsUpMainQueue: false)
  }

  /// Enters the wait of a `.sync` dispatch for those before it, which holds up its caller.
  ///
  /// On the main queue, the caller holds up all that is to run there.
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
      next = context.outer
    }
    return try lock.withLock { _ throws(DispatchError) in
      var search = Search(held: edges.map(\.waiter), holdsUpMainQueue: holdsUpMainQueue)
      if let found = search.find(target) { throw error(waiter, target, found) }
      for edge in edges { edge.waiter.waits.append(edge.target) }
      return Wait(edges: edges)
    }
  }

  static func end(_ wait: Wait) {
    lock.withLock { _ in
      for (waiter, target) in wait.edges {
        if let index = waiter.waits.firstIndex(where: { $0 === target }) {
          waiter.waits.remove(at: index)
        }
      }
    }
  }

  /// A dispatch that is held up by the wait, and the venue at which it was met.
  private struct Found {
    let holder: Dispatch
    let venue: any Venue
  }

  private struct Search {
    let held: [Dispatch]
    let holdsUpMainQueue: Bool
    var seen: Set<ObjectIdentifier> = []

    /// Follows what has to end before `dispatch` can, until something that is held up.
    mutating func find(_ dispatch: Dispatch) -> Found? {
      var path = [(dispatch, dispatch.venue as any Venue)]
      while let (dispatch, venue) = path.popLast() {
        if held.contains(where: { $0 === dispatch }) {
          return Found(holder: dispatch, venue: venue)
        }
        guard dispatch.result == nil, seen.insert(ObjectIdentifier(dispatch)).inserted else {
          continue
        }
        if holdsUpMainQueue, dispatch.venue.needsMainQueue {
          return Found(holder: dispatch, venue: dispatch.venue)
        }
        for before in dispatch.venue.dispatches(before: dispatch) {
          path.append((before, dispatch.venue))
        }
        for before in dispatch.dispatchesBefore + dispatch.waits {
          path.append((before, before.venue))
        }
      }
      return nil
    }
  }

  private static func error(
    _ waiter: Dispatch, _ target: Dispatch, _ found: Found
  ) -> DispatchError {
    let holder = "dispatch \(found.holder.id) (\(found.holder.callSite))"
    let reason =
      if found.holder === target {
        "it is the dispatch that waits"
      } else if found.holder === waiter || found.venue.needsMainQueue == false {
        "\(found.venue.description) is held by \(holder)"
      } else {
        "\(found.venue.description) is needed by \(holder), and the main queue is held up here"
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
