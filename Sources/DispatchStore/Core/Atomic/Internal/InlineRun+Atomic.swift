extension InlineRun.Address {
  /// Takes an atomic action through all of its stores at once, then ends each.
  ///
  /// - Returns: The point at which a round takes over, if a store's earlier changes must be delivered first, or changes
  ///   of this action were left to a notifier; nil if all stores have ended.
  func runAtomically(_ route: Route, on thread: ThreadState) -> InlineRemainder? {
    if route.count == 0 { return nil }
    var startedAt: Int64?
    let isCancelled =
      !pointee.hasNoDetails && (pointee.isCancelled || !pointee.claimStoreStart())
    if isCancelled {
      pointee.atomicOutcome = AtomicOutcome(cancelledAlong: route)
    } else if pointee.isScheduled,
      route.entries.contains(where: { $0.storage?.mayHoldBack == true })
    {
      return .all
    } else {
      pointee.session?._withUnsafeGuaranteedRef { session in
        for index in 0..<route.count { startedAt = session.start(index) }
      }
      pointee.atomicOutcome = AtomicStep.run(
        AtomicContext(
          runner: .inline(self), route: route, session: pointee.session?.takeUnretainedValue(),
          thread: thread, action: pointee.action))
    }
    let outcome = pointee.atomicOutcome.unsafelyUnwrapped
    if outcome.outcomes.isEmpty, pointee.session == nil, pointee.hasNoDetails { return nil }
    for index in 0..<route.count {
      let step = InlineStep(outcome[index])
      let start = outcome.hasBegun(index) ? startedAt : nil
      guard end(step, at: index, of: route, startedAt: start, isLast: index + 1 == route.count)
      else {
        return InlineRemainder(index: index, begun: step, startedAt: start)
      }
    }
    return nil
  }
}
