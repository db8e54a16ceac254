import Synchronization

/// Inside which dispatch some code runs: the cause of what it dispatches, and what its waits hold up.
///
/// A dispatch is the context of the code of its inline run (`InlineRun`). Store runs of a round, which may
/// run at the same time, and tasks have others (`StoreRunContext`, `TaskContext`).
@usableFromInline
class DispatchContext: @unchecked Sendable {
  // because a subclass says why
  var dispatch: Dispatch { fatalError("DispatchContext is abstract.") }
  /// The store run whose block or observers run; nil in hooks and completions.
  var owner: StoreRun? { fatalError("DispatchContext is abstract.") }
  /// The same for code that knows no stores: nil where no others run at the same time.
  final var part: AnyObject? { owner }
  /// The context that does not go on before this one has ended, on this thread or as its caller.
  var outer: DispatchContext? { fatalError("DispatchContext is abstract.") }
  /// This one and those around it, from inside to outside.
  final var andAround: some Sequence<DispatchContext> { sequence(first: self) { $0.outer } }
  /// Whether it is that of an `async` block's task, and not of a step.
  var isOfBlock: Bool { false }
  /// What runs the jobs of the `async` block around; nil for the system's pool.
  var jobScheduler: Scheduler? { outer?.jobScheduler }
  /// Whether what its code dispatches is cancelled with the dispatch, and times out with it: that of blocks.
  var passesOn: Bool {
    guard let owner else { return false }
    return !owner.runsRegardless
  }
  /// Whether the dispatch has ended at its deadline, so that what runs here holds up nothing of it.
  var isEarly: Bool { false }
  /// Whether the caller of an `async` block waits for it on the main queue.
  var holdsUpMainQueue: Bool { false }
  /// What it holds up, and what those around it do.
  var holdUps: HoldUps {
    var (next, found) = (Optional(self), HoldUps())
    while let context = next {
      if let known = context.knownHoldUps { return found.union(known) }
      found.formUnion(context.ownHoldUps)
      next = context.outer
    }
    return found
  }
  /// The same where it was worked out before.
  var knownHoldUps: HoldUps? { nil }

  fileprivate final var ownHoldUps: HoldUps {
    var own = HoldUps()
    if holdsUpMainQueue { own.insert(.mainQueue) }
    if (dispatch.details?.scheduler as? SyncLoop)?.isOnTaskThread == true {
      own.insert(.taskThread)
    }
    return own
  }

  /// Whether the current task, whose context it is, is that of an `async` block or a child of it, for which the block's
  /// end waits.
  var waitsForTask: Bool { false }

  /// The context of an `async` block, in its task and in all tasks made there.
  @TaskLocal static var inTask: DispatchContext?

  /// The same for code that runs in no block most of the time: where the runtime has no value, reading it takes four
  /// times as long as this.
  private static var ofBlockAround: DispatchContext? {
    isInTaskOfBlock ? inTask : nil
  }

  /// Whether the current task is that of an `async` block, or was made there.
  static var isInTaskOfBlock: Bool { TaskLocalAddress.current(of: $inTask) != 0 }

  /// Whether code that runs here may block its thread for a delivery turn.
  ///
  /// Outside of dispatches, and in `.sync` ones: there a caller waits anyway.
  static func mayBlock(on thread: ThreadState) -> Bool {
    if let run = thread.run { return !run.pointee.isScheduled }
    return cause(on: thread)?.dispatch.isSynchronous ?? true
  }

  /// The store run of a round whose code runs here.
  static func storeRun(on thread: ThreadState) -> StoreRun? {
    cause(on: thread)?.owner
  }

  /// The context outside of inline runs; of a task's code that of the task, since an actor may run the
  /// code of others in a job.
  static func cause(on thread: ThreadState) -> DispatchContext? {
    guard let context = thread.context, !context.isOfBlock else { return ofBlockAround }
    return context
  }

  /// The transaction that causes what is dispatched here.
  static func currentTransaction(on thread: ThreadState) -> TransactionID? {
    transaction(of: thread.run, on: thread)
  }

  /// The same for an innermost run.
  static func transaction(
    of run: InlineRun.Address?, on thread: ThreadState
  ) -> TransactionID? {
    if let run { return run.pointee.transaction }
    return cause(on: thread)?.dispatch.id
  }

  /// The number of the dispatcher whose code runs here; nil where that has ended.
  var dispatcherUnderWay: UInt64? {
    guard !dispatch.hasEnded else { return nil }
    // A store run's route is constant; a dispatch's own belongs to the thread that runs it, which is this one, or waits
    // for the task that runs here.
    return owner?.dispatcherNumber ?? dispatch.dispatcherNumber
  }

  /// Whether code of a dispatch under way runs here, of this dispatcher, or waits for what runs here.
  static func isInside(of dispatcher: UInt64, on thread: ThreadState) -> Bool {
    if InlineRun.isInside(of: dispatcher, thread.run) { return true }
    guard let cause = cause(on: thread) else { return false }
    // What is around a task that nobody waits for may go on meanwhile, and end.
    guard !cause.isOfBlock || cause.waitsForTask else {
      return cause.dispatcherUnderWay == dispatcher
    }
    return cause.andAround.contains { $0.dispatcherUnderWay == dispatcher }
  }

  // MARK: What blocks pass on

  /// The dispatch whose block runs here: what it dispatches is cancelled with it, and by its deadline.
  ///
  /// Nil in hooks, observers and completions, and in stores that run regardless.
  @inline(never)
  static func ofBlock(on thread: ThreadState) -> Dispatch? {
    ofBlock(from: thread.run, on: thread)
  }

  /// The same for code around an inline run.
  static func ofBlock(from innermost: InlineRun.Address?, on thread: ThreadState) -> Dispatch? {
    var next = innermost
    while let run = next {
      guard run.pointee.isInStore, !run.pointee.runsRegardless, !thread.isNotice(in: run) else {
        return nil
      }
      if let record = run.pointee.recordToCancel(on: thread) { return record }
      // A `.sync` dispatch: nothing cancels it but what is around it.
      next = run.pointee.outer
    }
    guard !thread.isNotice(in: nil), let context = cause(on: thread), context.passesOn else {
      return nil
    }
    return context.dispatch
  }

  /// The same, with a record of its own also where nothing else can cancel it, linked to the dispatch around it, and so
  /// on.
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

  /// Why what the block dispatches that runs here does not begin; nil where nothing has cancelled it.
  @inline(never)
  static func cancellation(on thread: ThreadState, at callSite: CallSite) -> (any Error)? {
    guard let inheritance = ofBlock(on: thread)?.details?.inheritance(), inheritance.isCancelled
    else { return nil }
    return inheritance.hasTimedOut
      ? DispatchError.timedOut(callSite, after: .zero) : CancellationError()
  }

  // MARK: What a wait holds up

  /// The innermost context that is held up where this thread blocks.
  static func blocked(on thread: ThreadState) -> DispatchContext? {
    if let run = thread.run { return run.pointee.makeContext(on: thread) }
    return enclosing(nil, on: thread)
  }

  /// The same from a run on, which needs no record; what is there is held up also by code called from here.
  ///
  /// Only what is on the thread's stack counts, down to the task whose job it runs: not what the dispatch
  /// was made in whose code is called, since another thread may be about to end it.
  static func enclosing(
    _ run: InlineRun.Address?, on thread: ThreadState
  ) -> DispatchContext? {
    guard let context = InlineRun.recorded(run, on: thread) else { return ofTask }
    // A task that was made immediately, on top of the job's, has the same task-local values; the task of
    // another caller of an actor, in the place of the job's, does not.
    return !context.isOfBlock || context === inTask ? context : ofTask
  }

  /// The context that a `.sync` dispatch of this thread holds up.
  ///
  /// - Parameters:
  ///   - parent: Its cause; without one, there is nothing to look for.
  ///   - run: The innermost inline run around it.
  static func around(
    _ parent: TransactionID?, _ run: InlineRun.Address?, on thread: ThreadState
  ) -> DispatchContext? {
    parent == nil ? nil : enclosing(run, on: thread)
  }

  /// The context that is held up where the current task suspends: its stack goes on, but for the block that
  /// waits for the task.
  static var ofTask: DispatchContext? {
    guard let context = ofBlockAround, context.waitsForTask else { return nil }
    return context
  }
}

/// What a wait inside of a context holds up besides dispatches.
struct HoldUps: OptionSet {
  let rawValue: UInt8

  static let mainQueue = HoldUps(rawValue: 1)
  /// One of the system's threads for tasks, which is blocked until the context has ended.
  static let taskThread = HoldUps(rawValue: 2)
}

/// The context of a store run's code in a round, or of a round's hooks and completion.
final class StoreRunContext: DispatchContext, @unchecked Sendable {
  // because all of its properties are constants
  private let ofDispatch: Dispatch
  private let ofOwner: StoreRun?
  private let around: DispatchContext?
  /// Of a completion at the deadline: the number of the dispatcher.
  private let early: UInt64?

  init(
    _ dispatch: Dispatch, owner: StoreRun?, early: EarlyEnd? = nil, outer: DispatchContext?
  ) {
    ofDispatch = dispatch
    ofOwner = owner
    around = outer
    self.early = early?.generation?.dispatcher
  }

  override var isEarly: Bool { early != nil }
  // The record belongs to the thread that still runs its stores, or has ended.
  override var dispatcherUnderWay: UInt64? { early ?? super.dispatcherUnderWay }

  override var dispatch: Dispatch { ofDispatch }
  override var owner: StoreRun? { ofOwner }
  override var outer: DispatchContext? { around }
}

/// The context of an `async` block, or of what follows a dispatch, in its task and in those made there.
final class TaskContext: DispatchContext, @unchecked Sendable {
  // because `address` is atomic, and all else is constant
  /// Nil for what follows a dispatch.
  private let storeRun: StoreRun?
  /// Of what follows a dispatch, the number of the dispatcher.
  private let dispatcher: UInt64?
  /// The same, the dispatch that stands for it.
  private let following: Dispatch?
  private let caller: DispatchContext?
  private let ownJobScheduler: Scheduler?
  private let isOnMainQueue: Bool
  private var ofAll = HoldUps()
  /// Where the block's task has bound it, until the block has returned.
  private let address = Atomic<UInt>(0)

  init(
    _ storeRun: StoreRun, of dispatch: Dispatch, at scheduler: Scheduler, holdsUpMainQueue: Bool
  ) {
    (dispatcher, following) = (nil, nil)
    self.storeRun = storeRun
    caller = dispatch.caller
    ownJobScheduler =
      scheduler.isTask ? caller?.jobScheduler : scheduler.needsMainQueue ? nil : scheduler
    isOnMainQueue = holdsUpMainQueue
    super.init()
    ofAll = ownHoldUps.union(caller?.holdUps ?? [])
  }

  /// For what follows a dispatch.
  ///
  /// - Parameter dispatch: Stands for that, until it has ended.
  init(following dispatch: Dispatch, of dispatcher: Dispatcher) {
    self.dispatcher = dispatcher.number
    following = dispatch
    (storeRun, caller, isOnMainQueue) = (nil, nil, false)
    ownJobScheduler = dispatcher.pool
  }

  /// For the steps of a group.
  ///
  /// - Parameters:
  ///   - dispatch: Stands for the group, until that has ended.
  ///   - caller: The context that waits for it.
  init(ofGroup dispatch: Dispatch, of dispatcher: Dispatcher, inside caller: DispatchContext?) {
    self.dispatcher = dispatcher.number
    following = dispatch
    self.caller = caller
    (storeRun, isOnMainQueue) = (nil, false)
    ownJobScheduler = caller?.jobScheduler
    super.init()
    ofAll = caller?.holdUps ?? []
  }

  override var passesOn: Bool { storeRun == nil || super.passesOn }

  override var dispatcherUnderWay: UInt64? {
    guard let dispatcher else { return super.dispatcherUnderWay }
    return dispatch.hasEnded ? nil : dispatcher
  }

  override var dispatch: Dispatch { following ?? storeRun.unsafelyUnwrapped.dispatch }
  override var owner: StoreRun? { storeRun }
  override var outer: DispatchContext? { caller }
  override var isOfBlock: Bool { true }
  override var jobScheduler: Scheduler? { ownJobScheduler }
  override var holdsUpMainQueue: Bool { isOnMainQueue }
  override var knownHoldUps: HoldUps? { ofAll }

  override var waitsForTask: Bool {
    let address = address.load(ordering: .relaxed)
    return address != 0 && address == TaskLocalAddress.current(of: Self.$inTask)
  }

  /// The block runs in the current task, which has bound the context.
  func begin() {
    address.store(TaskLocalAddress.current(of: Self.$inTask), ordering: .relaxed)
  }

  /// The block has returned: a later value may have the address.
  func end() {
    address.store(0, ordering: .relaxed)
  }
}
