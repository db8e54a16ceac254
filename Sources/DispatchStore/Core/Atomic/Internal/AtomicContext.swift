/// The round that an atomic action belongs to, while the action goes through its stores.
struct AtomicContext {
  let round: Round
  /// The store run that owns the commits of all stores.
  let leader: StoreRun
  let thread: ThreadState
  /// The address of the action as dispatched.
  let action: UnsafeRawPointer

  var route: Route { round.route }

  /// The middlewares' verdict about a store; nil if they let the action pass.
  func reply(at index: Int) -> MiddlewareChain.Reply? {
    if let repeated = round.atomic.repeated { return repeated[index].reply }
    return round.session?.reply(at: index)
  }

  /// The companions whose rows are part of the commit; none for most.
  var companions: [DispatchCompanion] {
    (round.dispatch.details?.companions ?? [])
      + route.chain.followers.compactMap { $0.companion(of: round.dispatch.id, round.action) }
  }

  /// Passes the address of the action that a store gets to a closure.
  func withAction<Result>(at index: Int, _ body: (UnsafeRawPointer) -> Result) -> Result {
    guard let reply = reply(at: index) else { return body(action) }
    return withAddress(of: reply.action, body)
  }

  /// The stores whose reducers hide the commit from observers; called with no lock held.
  var hidingStores: Set<Int> {
    Set(
      (0..<route.count).filter { index in
        if !route.entries[index].overrides.shouldNotifyObservers { return false }
        enter(index)
        return withAction(at: index) { !route.entries[index].notifiesObservers(of: $0) }
      })
  }

  /// Notes the store whose code runs next.
  func enter(_ index: Int) { round.atomic.index = index }

  /// The outcome if a store can't take part, because of a verdict, or because it is gone or does more than reduce.
  func obstacle(at index: Int) -> StoreOutcome? {
    if let outcome = reply(at: index)?.outcome { return outcome }
    return route.withEntry(at: index) { entry in
      if entry.isGone { return .cancelled(hasStarted: false) }
      if entry.overrides.answer == .reduction { return nil }
      return .failed(DispatchError.notAtomic(entry.identifier, entry.actionType))
    }
  }
}
