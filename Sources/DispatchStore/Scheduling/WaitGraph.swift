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
    var edges: [(waiter: Dispatch, target: Dispatch)] = []
    var next: DispatchContext? = context
    while let waiter = next {
      if waiter.dispatch !== edges.last?.waiter {
        edges.append((waiter.dispatch, edges.last?.waiter ?? target))
      }
      next = waiter.outer
    }
    return try lock.withLock { _ throws(DispatchError) in
      var search = Search(held: edges.map(\.waiter))
      if let found = search.find(target) { throw error(context.dispatch, target, found) }
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
    let held =
      found.holder === target
      ? "it is the very dispatch that waits, or one that waits for it"
      : "\(found.venue.description) is held by dispatch \(found.holder.id) (\(found.holder.callSite))"
    return DispatchError(
      code: .wouldDeadlock,
      message: """
        Dispatch \(waiter.id) (\(waiter.callSite)) would wait for ever for dispatch \(target.id) \
        (\(target.callSite)): \(held). Chain them with a completion, use another lane, or don't \
        wait.
        """,
      callSites: [waiter.callSite, target.callSite])
  }
}
