/// The dispatch whose code runs, and its outer contexts.
///
/// The context is the cause of new dispatches, and says which dispatches a wait in it blocks.
///
/// A dispatch is itself the context of its inline run (`InlineRun`). Tasks have contexts of their own (`TaskContext`),
/// and so has the code of a round (`CodeContext`), whose stores may run concurrently, and that of a list or an end.
@usableFromInline
class DispatchContext: @unchecked Sendable {
  // because a subclass says why
  var dispatch: Dispatch { fatalError("DispatchContext is abstract.") }
  /// The dispatch that goes on only after a wait here, as diagnoses show it; nil if there is none.
  var waitingDispatch: Dispatch? { dispatch }
  /// The store run whose block or observers run; nil in hooks and completions.
  var owner: StoreRun? { nil }
  /// The store run whose end waits for commits that are made here.
  var commitOwner: StoreRun? { owner }
  /// The store run, for code that knows no stores; nil if no other store runs at the same time.
  final var part: AnyObject? { owner }
  /// The context that can't continue before this one has ended, because it is on this thread or is the caller.
  ///
  /// A constant, except for a dispatch: that has one while it runs on its caller's thread, of the code that this thread
  /// now runs.
  @exclusivity(unchecked) final var outer: DispatchContext?

  init(inside outer: DispatchContext? = nil) { self.outer = outer }

  /// The context and its outer contexts, innermost first.
  final var andAround: some Sequence<DispatchContext> { sequence(first: self) { $0.outer } }
  /// Whether this is the context of an `async` block's task, and not of a step.
  var isOfBlock: Bool { false }
  /// The scheduler of the jobs of the enclosing `async` block; nil for the system's pool.
  var jobScheduler: Scheduler? { outer?.jobScheduler }
  /// Whether cancellation and timeouts of the dispatch extend to the dispatches made here.
  ///
  /// True for blocks.
  var passesOn: Bool {
    guard let owner else { return false }
    return !owner.runsRegardless
  }
  /// Whether code here runs on the thread of a caller that waits for it anyway.
  var isOnCallersThread: Bool { dispatch.isSynchronous }
  /// Whether the dispatch has ended at its deadline, so that code here no longer blocks it.
  var isEarly: Bool { false }
  /// Whether the caller of an `async` block waits for it on the main queue.
  var holdsUpMainQueue: Bool { false }
  /// Everything that a wait in this context blocks, including its outer contexts.
  var holdUps: HoldUps { ownHoldUps.union(outer?.holdUps ?? []) }

  final var ownHoldUps: HoldUps {
    var own = HoldUps()
    if holdsUpMainQueue { own.insert(.mainQueue) }
    if dispatch.blocksTaskThread { own.insert(.taskThread) }
    return own
  }

  /// Whether the end of an `async` block waits for the current task, whose context this is: the block's task or a
  /// child task.
  var waitsForTask: Bool { false }

  /// The context of an `async` block, in its task and in all tasks made there.
  @TaskLocal static var inTask: DispatchContext?

  /// The current task's context.
  ///
  /// Checks the address first: that is four times as fast as reading a task-local value that is not bound.
  private static var ofBlockAround: DispatchContext? {
    isInTaskOfBlock ? inTask : nil
  }

  /// Whether the current task is that of an `async` block, or was made there.
  static var isInTaskOfBlock: Bool { TaskLocalAddress.current(of: $inTask) != 0 }

  /// Whether code of a dispatch runs on this thread, or in the current task.
  ///
  /// A thread does not know the block of a task that the system runs.
  @inline(__always)
  static func isInside(on thread: ThreadState) -> Bool { thread.isInside || isInTaskOfBlock }

  /// Whether code on this thread may block it for a delivery turn.
  ///
  /// True outside of dispatches, and in `.sync` ones, for which a caller waits anyway.
  static func mayBlock(on thread: ThreadState) -> Bool {
    if let run = thread.run { return !run.pointee.isScheduled }
    return cause(on: thread)?.dispatch.isSynchronous ?? true
  }

  /// The store run of a round whose code runs on this thread.
  static func storeRun(on thread: ThreadState) -> StoreRun? {
    cause(on: thread)?.owner
  }

  /// The context of code on this thread, inline runs aside.
  ///
  /// In a task it is the task's context, since an actor may run others' code in a job.
  static func cause(on thread: ThreadState) -> DispatchContext? {
    guard let context = thread.context, !context.isOfBlock else { return ofBlockAround }
    return context
  }

  /// The dispatch that causes new dispatches on this thread.
  static func currentTransaction(on thread: ThreadState) -> DispatchID? {
    dispatchID(of: thread.run, on: thread)
  }

  /// The dispatch of an innermost run, or else of the code that runs here.
  static func dispatchID(
    of run: InlineRun.Address?, on thread: ThreadState
  ) -> DispatchID? {
    if let run { return run.pointee.dispatchID }
    return cause(on: thread)?.dispatch.id
  }

  /// The number of the dispatcher whose code runs here; nil if the dispatch has ended, or was refused.
  var dispatcherUnderWay: UInt64? {
    guard !dispatch.hasEnded else { return nil }
    // A store run's route is constant, and a refused dispatch has no store run. So code of a task that nobody waits for
    // reads nothing that another thread clears at the dispatch's end.
    if let owner { return owner.dispatcherNumber }
    // A dispatch's own route belongs to the thread that runs it. That is this thread, or one that waits for the current
    // task.
    // The completion of a dispatch that was refused at the call is no work under way.
    return dispatch.refusalOfRoute == nil ? dispatch.dispatcherNumber : nil
  }

  /// Whether code of this dispatcher runs here, in an unfinished dispatch, or waits for code that runs here.
  static func isInside(of dispatcher: UInt64, on thread: ThreadState) -> Bool {
    if InlineRun.isInside(of: dispatcher, thread.run) { return true }
    guard let cause = cause(on: thread) else { return false }
    // The outer context of a task that nobody waits for may continue meanwhile, and end.
    guard !cause.isOfBlock || cause.waitsForTask else {
      return cause.dispatcherUnderWay == dispatcher
    }
    return cause.andAround.contains { $0.dispatcherUnderWay == dispatcher }
  }

  /// The number of the dispatcher whose code runs here innermost; nil if there is none, or its dispatch has ended.
  static func innermostDispatcher(on thread: ThreadState) -> UInt64? {
    if let run = thread.run { return run.pointee.route._withUnsafeGuaranteedRef(\.dispatcher) }
    return cause(on: thread)?.dispatcherUnderWay
  }

  /// Runs code that is not of the dispatch whose code runs here.
  @discardableResult
  static func outside<Result>(_ body: () -> Result) -> Result {
    ThreadState.current.within(nil) { $inTask.withValue(nil, operation: body) }
  }

  // MARK: Inheritance through blocks

  /// The dispatch whose block runs here.
  ///
  /// Its cancellation and its deadline extend to the dispatches made here.
  ///
  /// Nil in hooks, observers and completions, and in stores that run regardless.
  ///
  /// - Parameter innermost: The run from which it is looked for, outwards.
  static func ofBlock(from innermost: InlineRun.Address?, on thread: ThreadState) -> Dispatch? {
    var next = innermost
    while let run = next {
      guard run.pointee.isInStore, !run.pointee.runsRegardless, !thread.isNotice(in: run) else {
        return nil
      }
      if let record = run.pointee.recordToCancel(on: thread) { return record }
      // A `.sync` dispatch is cancelled only by its outer context.
      next = run.pointee.outer
    }
    guard !thread.isNotice(in: nil), let context = cause(on: thread), context.passesOn else {
      return nil
    }
    return context.dispatch
  }

  /// The dispatch whose block runs here, linked to the dispatch around it, and so on outwards.
  ///
  /// Makes a record even if nothing else can cancel that dispatch.
  @inline(never)
  static func linkedBlock(
    from innermost: InlineRun.Address?, on thread: ThreadState
  ) -> Dispatch? {
    guard thread.exclusive == nil, let run = innermost else {
      let block = ofBlock(from: innermost, on: thread)
      block?.linkToCaller()
      return block
    }
    let isBlock =
      run.pointee.isInStore && !run.pointee.runsRegardless && !thread.isNotice(in: run)
    return isBlock ? run.pointee.linkedRecord(on: thread) : nil
  }

  /// The error with which new dispatches of the current block fail; nil if the block was not cancelled.
  @inline(never)
  static func cancellation(on thread: ThreadState, at callSite: CallSite) -> (any Error)? {
    let inheritance = ofBlock(from: thread.run, on: thread)?.details?.inheritance()
    guard let inheritance, inheritance.isCancelled else { return nil }
    return inheritance.hasTimedOut
      ? DispatchError.timedOut(callSite, after: .zero) : CancellationError()
  }

  // MARK: Contexts that a wait blocks

  /// The innermost context that is blocked if this thread blocks.
  static func blocked(on thread: ThreadState) -> DispatchContext? {
    if let run = thread.run { return run.pointee.makeContext(on: thread) }
    return enclosing(nil, on: thread)
  }

  /// The innermost context that is blocked from a run outwards, which needs no record.
  ///
  /// Only the thread's stack counts, down to the task whose job it runs. The context in which a dispatch was made
  /// does not count, since another thread may be about to end that.
  static func enclosing(
    _ run: InlineRun.Address?, on thread: ThreadState
  ) -> DispatchContext? {
    guard let context = InlineRun.recorded(run, on: thread) else { return ofTask }
    // A task made immediately, on top of the job's, has the same task-local values. Another caller's task, in place
    // of the job's on an actor, does not.
    return !context.isOfBlock || context === inTask ? context : ofTask
  }

  /// The context that is blocked if the current task suspends.
  ///
  /// The thread continues, and only the block that waits for the task is blocked.
  static var ofTask: DispatchContext? {
    guard let context = ofBlockAround, context.waitsForTask else { return nil }
    return context
  }
}

/// The resources that a wait inside of a context blocks, besides dispatches.
struct HoldUps: OptionSet {
  let rawValue: UInt8

  static let mainQueue = HoldUps(rawValue: 1)
  /// A system thread for tasks, which is blocked until the context has ended.
  static let taskThread = HoldUps(rawValue: 2)
}

extension DispatchID {
  /// The dispatch whose code runs on this thread, such as its completion.
  package static var current: DispatchID? { DispatchContext.currentTransaction(on: .current) }
}
