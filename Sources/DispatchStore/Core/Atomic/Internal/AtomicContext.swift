/// The run that an atomic action belongs to.
struct AtomicContext {
  enum Runner {
    case inline(InlineRun.Address)
    /// A round, with the store run that owns the commits of all stores, and the attempt by store index; nil for the
    /// first one.
    case round(leader: StoreRun, any ActionType, [StoreRun.Repeated]?)
  }

  let runner: Runner
  let route: Route
  let session: MiddlewareSession?
  let thread: ThreadState
  /// The address of the action as dispatched.
  let action: UnsafeRawPointer

  /// Whether the middlewares have done more than let the action pass.
  var hasReplies: Bool {
    if case .round(_, _, let repeated?) = runner { return repeated.contains { $0.reply != nil } }
    return session?.hasReplies == true
  }

  /// The middlewares' verdict about a store; nil if they let the action pass.
  func reply(at index: Int) -> MiddlewareChain.Reply? {
    if case .round(_, _, let repeated?) = runner { return repeated[index].reply }
    return session?.reply(at: index)
  }

  /// The companions whose rows are part of the commit; none for most.
  var companions: [DispatchCompanion] {
    switch runner {
    case .inline(let run): return run.pointee.companions
    case .round(let leader, let action, _):
      let own = leader.waiting?.details?.companions ?? []
      return own + route.chain.followers.compactMap { $0.companion(of: leader.dispatchID, action) }
    }
  }

  /// Passes the address of the action that a store gets to a closure.
  func withAction<Result>(at index: Int, _ body: (UnsafeRawPointer) -> Result) -> Result {
    guard let reply = reply(at: index) else { return body(action) }
    return withAddress(of: reply.action, body)
  }

  /// Returns the owner of the commits; called with no lock held.
  func makeOwner() -> any CommitOwner {
    switch runner {
    case .inline(let run): run.pointee.makeRecord(on: thread)
    case .round(let leader, _, _): leader
    }
  }

  /// Notes the store whose code runs next.
  func enter(_ index: Int) {
    if case .inline(let run) = runner { run.pointee.index = index }
  }

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
