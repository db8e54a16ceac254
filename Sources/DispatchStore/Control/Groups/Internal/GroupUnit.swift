/// A group in flight as a dispatch.
///
/// The dispatcher counts the group as under way until it has ended. Blocks, keys, limits and deadlines act on the
/// group's steps as they do on a dispatch.
///
/// The unit is a dispatch without stores (`Dispatch.standIn`), which dispatches the steps. So a closed dispatcher
/// accepts them, and they are cancelled and time out with it. Compensations are dispatched by it, too, but detached.
final class GroupUnit: Sendable {
  private let dispatcher: Dispatcher
  private let callSite: CallSite
  /// Nil if the dispatcher accepts nothing any longer: the group is refused as a whole.
  private let standIn: Dispatch?
  /// The context in which the steps are dispatched.
  let context: TaskContext?
  /// The context, if others can wait for the group: by its handle, or for a unit that it has.
  ///
  /// A search then sees that the group waits for a step before that begins.
  let findable: TaskContext?
  /// The error that keeps the group from beginning; nil for most groups.
  let refusal: (any Error)?
  /// The name in messages.
  private let name: String?

  /// - Parameters:
  ///   - standIn: The dispatch that stands for the group.
  ///   - options: The options of the group; in a task, once that has waited for its limits.
  ///   - caller: The context that waits for the group's end, or nil if none does.
  ///   - isCancelled: Whether the group was cancelled before.
  init(
    _ standIn: Dispatch?, _ options: DispatchOptions, by dispatcher: Dispatcher,
    at callSite: CallSite, inside caller: DispatchContext?, isCancelled: Bool
  ) {
    self.dispatcher = dispatcher
    self.callSite = callSite
    name = options.lastName
    self.standIn = standIn
    context = standIn.map {
      TaskContext(
        standIn: $0, of: dispatcher, inside: caller, at: caller?.jobScheduler,
        sleeps: (caller as? TaskContext)?.sleeps)
    }
    let isAwaited = options.control?.isFindable == true || options.limitsMakeOthersWait
    findable = isAwaited ? context : nil
    guard let standIn else {
      refusal = dispatcher.refusal
      return
    }
    // A group that starts nothing waits for no limit, and ends no other dispatch.
    guard !isCancelled, !standIn.isCancelled else {
      refusal = nil
      return
    }
    do {
      try standIn.admitGroup(options, by: dispatcher, at: callSite)
      refusal = nil
    } catch {
      refusal = error
    }
  }

  /// Whether nothing but compensations may start.
  var isCancelled: Bool { refusal != nil || standIn?.isCancelled == true }

  /// The deadline, or a sooner one of the block around it; nil without a time limit of the group.
  var deadline: Deadline? { standIn?.details?.withState(\.limit)?.deadline }

  /// The error of its time limit, if that has passed before it was cancelled.
  var cause: (any Error)? {
    guard let standIn else { return nil }
    return standIn.makeDetails().withState { state -> DispatchError? in
      state.wasCancelledBeforeDeadline ? nil : state.refusal
    }
  }

  /// Whether the code that waits for the group is that of a dispatch, with which the group is cancelled.
  var isInsideDispatch: Bool { context?.outer != nil }

  /// Dispatches a step, which then belongs to the group wherever this thread is.
  func dispatching<Result>(_ body: () -> Result) -> Result {
    guard let standIn else { return body() }
    let thread = ThreadState.current
    let outer = DispatchContext.enclosing(thread.run, on: thread)
    return thread.within(GroupContext(standIn, outer: outer), body)
  }

  /// Frees the group's units and the key by which others are skipped: all steps and compensations have ended, and the
  /// completion follows.
  func stepsEnded() { standIn?.makeDetails().storesEnded() }

  /// Runs the completion or a report as code of the group, which passes nothing on to dispatches made there.
  ///
  /// A wait there blocks the group, and the code around the call.
  func perform(_ body: () -> Void) {
    guard let standIn else {
      // A refused group has no context: the code counts as an observer's, wherever it runs.
      let thread = ThreadState.current
      let former = thread.beginNotice()
      defer { thread.endNotice(former) }
      return body()
    }
    standIn.withContext(of: nil, on: .current, body)
  }

  /// The handle by which a block waits for the completion; nil if the group ends without a dispatch.
  var handle: DispatchHandle? { standIn.map { DispatchHandle($0) } }

  /// Returns the group's result, once all steps and compensations have ended.
  ///
  /// Reports compensations that have failed, and notes those that the dispatcher has refused because it was shut down:
  /// nothing tries them again.
  func result(of state: GroupState) -> ActionGroupResult {
    let (refused, failed) = (state.refusedCompensations, state.failedCompensations)
    if !refused.isEmpty {
      dispatcher.note(UncompensatedGroup(name: name, callSite: callSite, steps: refused))
    }
    if !failed.isEmpty {
      dispatcher.reportFailure(
        of: UncompensatedGroup(name: name, callSite: callSite, steps: failed))
    }
    return ActionGroupResult(state, refusal: refusal)
  }

  /// Ends the unit: the group no longer counts as under way.
  ///
  /// - Parameter publish: Called once its limits are free, and before a drain can end.
  func end(_ result: ActionGroupResult, _ publish: @escaping @Sendable () -> Void = {}) {
    guard let standIn else { return publish() }
    standIn.at(.beforeResult, publish)
    // Only a group that others can find has a handle for which the steps' results are kept.
    let steps = findable == nil ? [] : result.steps
    let dispatched = steps.compactMap(\.result)
    standIn.end(
      DispatchResult(
        dispatchID: standIn.id, steps: dispatched,
        skippedActionCount: steps.count - dispatched.count, error: result.error))
  }
}

/// The context of a thread while it dispatches a step of a group.
///
/// A wait there blocks the group, and the code around the call.
private final class GroupContext: DispatchContext, @unchecked Sendable {
  // because all of its properties are constants
  private let standIn: Dispatch

  init(_ standIn: Dispatch, outer: DispatchContext?) {
    self.standIn = standIn
    super.init(inside: outer)
  }

  override var dispatch: Dispatch { standIn }
  override var waitingDispatch: Dispatch? { outer?.waitingDispatch }
  override var passesOn: Bool { true }
  override var isOnCallersThread: Bool { true }
}

extension Dispatch {
  /// Makes the dispatch that stands for a group, linked to the block around it; nil if the dispatcher accepts nothing.
  static func standIn(
    forGroup options: DispatchOptions, by dispatcher: Dispatcher, at callSite: CallSite,
    parent: DispatchID?, on thread: ThreadState
  ) -> Dispatch? {
    let standIn = Dispatch.standIn(
      parent ?? .make(on: thread), parent: nil, callSite, of: dispatcher, on: thread)
    if options.control?.isDetached != true {
      standIn?.link(to: DispatchContext.linkedBlock(from: thread.run, on: thread))
    }
    return standIn
  }

  /// Admits the dispatch that stands for a group; the group's options make it known, limit or refuse it.
  fileprivate func admitGroup(
    _ options: DispatchOptions, by dispatcher: Dispatcher, at callSite: CallSite
  ) throws {
    guard options.isControlled else { return }
    let own = dispatcher.deadline(options, options.control, at: callSite)
    let deadline = dispatcher.sooner(of: own, makeDetails().inheritedDeadline)
    let admission = options.control?.begin(for: dispatcher, at: callSite, until: deadline)
    // Without a deadline of its own the group hands the inherited one on to its steps.
    if own != nil, let deadline {
      guard deadline.time > dispatcher.clock.nanoseconds else {
        throw DispatchError.timedOut(callSite, after: deadline.duration)
      }
      makeDetails().put(TimeLimit(until: deadline, of: dispatcher, endsEarly: false))
    }
    // The thread may have been blocked for a unit meanwhile.
    if isCancelled { throw refusal ?? CancellationError() }
    _ = try admission?.admit(self, laterIn: nil, to: dispatcher)
    let older = admission?.announce(self, of: dispatcher) ?? []
    admission?.entered(self, of: dispatcher)
    for older in older { older.cancel() }
    makeDetails().startTimer(if: { $0.needsTimer(startsHere: false) }) { self.timerFired() }
  }
}
