/// The run that an atomic action belongs to.
protocol AtomicContext {
  var route: Route { get }
  var thread: ThreadState { get }

  /// Whether the middlewares have done more than let the action pass.
  var hasReplies: Bool { get }

  /// The middlewares' verdict about a store; nil if they let the action pass.
  func reply(at index: Int) -> MiddlewareChain.Reply?

  /// The companions whose rows are part of the commit; none for most.
  var companions: [DispatchCompanion] { get }

  /// Passes the address of the action as dispatched to a closure.
  func withAction<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result

  /// Returns the owner of the commits; called with no lock held.
  func makeOwner() -> any CommitOwner

  /// Notes the store whose code runs next.
  func enter(_ index: Int)
}

extension AtomicContext {
  /// Passes the address of the action that a store gets to a closure.
  func withAction<Result>(at index: Int, _ body: (UnsafeRawPointer) -> Result) -> Result {
    guard let reply = reply(at: index) else { return withAction(body) }
    return withAddress(of: reply.action, body)
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

/// The inline run of an atomic action.
struct InlineAtomicContext: AtomicContext {
  let run: InlineRun.Address
  let route: Route
  let thread: ThreadState

  var hasReplies: Bool { run.pointee.session?._withUnsafeGuaranteedRef(\.hasReplies) == true }

  func reply(at index: Int) -> MiddlewareChain.Reply? {
    run.pointee.session?._withUnsafeGuaranteedRef { $0.reply(at: index) }
  }

  var companions: [DispatchCompanion] { run.pointee.companions }

  func withAction<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
    body(run.pointee.action)
  }

  func makeOwner() -> any CommitOwner { run.pointee.makeRecord(on: thread) }

  func enter(_ index: Int) { run.pointee.index = index }
}

/// The round of an atomic action.
struct RoundAtomicContext: AtomicContext {
  let route: Route
  let thread: ThreadState
  private let action: any ActionType
  private let session: MiddlewareSession?
  private let leader: StoreRun
  private let leadersReply: MiddlewareChain.Reply?

  /// - Parameters:
  ///   - leader: The store run that owns the commits of all stores.
  ///   - leadersReply: The verdict about its present attempt.
  init(
    _ route: Route, _ action: any ActionType, _ session: MiddlewareSession?, leader: StoreRun,
    leadersReply: MiddlewareChain.Reply?, on thread: ThreadState
  ) {
    (self.route, self.action, self.session, self.thread) = (route, action, session, thread)
    (self.leader, self.leadersReply) = (leader, leadersReply)
  }

  var hasReplies: Bool { leadersReply != nil || session?.hasReplies == true }

  func reply(at index: Int) -> MiddlewareChain.Reply? {
    index == leader.index ? leadersReply : session?.reply(at: index)
  }

  var companions: [DispatchCompanion] {
    let own = leader.waiting?.details?.companions ?? []
    return own + route.chain.followers.compactMap { $0.companion(of: leader.dispatchID, action) }
  }

  func withAction<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
    withAddress(of: action, body)
  }

  func makeOwner() -> any CommitOwner { leader }

  func enter(_ index: Int) {}
}
