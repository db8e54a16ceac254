/// What the options of a dispatch say about whether it may begin, and what is to know it: the seam for what controls
/// dispatches.
@usableFromInline
class DispatchAdmission: @unchecked Sendable {
  // because a subclass has only constants
  /// Whether it inherits neither cancellation nor deadline from the block that dispatches it.
  var isDetached: Bool { false }

  /// When the dispatch times out, if it is dispatched now, whatever its options say besides.
  func deadline(by clock: DispatcherClock, at callSite: CallSite) -> Deadline? { nil }

  /// With which priority it waits for the concurrent queue, or for its turn in a lane; nil for the normal one.
  func priority(in mode: Dispatcher.Mode, of dispatcher: Dispatcher) -> PriorityInbox.Level? { nil }

  /// By which stores run again that have failed.
  var retryRule: (any RetryRule)? { nil }

  /// What a dispatch has to pass in its turn, before it starts; nil for most.
  ///
  /// On the dispatching thread, before hooks and scheduling.
  func gate(for dispatcher: Dispatcher) -> StartGate? { nil }

  /// What controls one dispatch, for which it may block its thread; in most cases itself.
  ///
  /// On the dispatching thread, before hooks and scheduling.
  ///
  /// - Parameter deadline: The dispatch's own, up to which its thread is blocked at most.
  func begin(
    for dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission { self }

  /// Takes what a dispatch needs that a task sends, before it begins; nil where that needs nothing.
  func send(
    to dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> SendAdmission? { nil }

  /// Whether it is ready: `begin` and `send` were called, or have nothing to do.
  var isReady: Bool { false }

  /// Whether `admit` makes a dispatch known to others, that may wait for it, or end it before it begins.
  var makesKnown: Bool { false }

  /// Decides whether a dispatch begins; throws why not.
  ///
  /// On the dispatching thread, before hooks and scheduling; no other thread knows the dispatch.
  ///
  /// - Parameter delay: By which it may begin later; nil where it ends at once with an error of the dispatcher's.
  func admit(
    _ dispatch: Dispatch, _ delay: DispatchDelay?, to dispatcher: Dispatcher
  ) throws -> Admission { .begins }

  /// Whether others can get a handle of the dispatch, once it is announced.
  var isFindable: Bool { false }

  /// Makes the dispatch known to others, before its stores can begin: from here on they may cancel it.
  ///
  /// - Returns: Those that are cancelled once the scheduler has it.
  func announce(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> [Dispatch] { [] }

  /// The scheduler has the dispatch, which may have ended by now; the caller's thread or task is about to run it.
  func entered(_ dispatch: Dispatch, of dispatcher: Dispatcher) {}
}

/// What becomes of a dispatch that is not refused.
enum Admission {
  /// It begins now.
  case begins
  /// It begins once its delay has ended.
  case waits
  /// It runs nothing, and ends as this one does.
  case joins(Dispatch)
}

/// What a task does that sends a dispatch.
enum SendAdmission {
  /// It begins the dispatch, with this.
  case ready(DispatchAdmission)
  /// It waits first.
  case waits(AdmissionWait)
}

/// What a task that sends waits for before its dispatch begins.
@usableFromInline
class AdmissionWait: @unchecked Sendable {
  // because a subclass says why
  /// Returns what the dispatch begins with, also where the task was cancelled or the time has passed.
  nonisolated(nonsending) func ended() async -> DispatchAdmission {
    fatalError("AdmissionWait is abstract.")
  }
}

/// What controls the dispatches of a dispatcher, whatever their options say.
class DefaultAdmission: @unchecked Sendable {
  // because a subclass has only constants
  /// What controls a dispatch with this mode; in all modes but `sync`.
  func admission(in mode: Dispatcher.Mode, with own: DispatchAdmission?) -> DispatchAdmission? {
    own
  }
}

/// A dispatch that was admitted, with what is to be done before and after its scheduler gets it.
struct AdmittedDispatch {
  private let dispatch: Dispatch
  private let admission: DispatchAdmission?
  private let parent: Dispatch?
  private let isInLane: Bool
  /// Those that it replaces, once it is announced.
  private var older: [Dispatch]?
  /// Nil where it begins at once.
  let delay: DispatchDelay?

  init(
    _ dispatch: Dispatch, by admission: DispatchAdmission?,
    inBlockOf parent: Dispatch?, isInLane: Bool, after delay: DispatchDelay? = nil
  ) {
    self.dispatch = dispatch
    self.delay = delay
    self.parent = parent
    self.isInLane = isInLane
    self.admission = admission
  }

  /// A scheduler is about to get it, which may start it at once: its block already finds what makes it known.
  ///
  /// A cancellation that comes before the scheduler has it is noted, and takes effect in `enter`.
  mutating func announce(by dispatcher: Dispatcher) {
    guard let admission else { return }
    // One that is delayed can be ended as it is.
    if delay == nil { dispatch.makeDetails().withState { $0.awaitAcceptance() } }
    older = admission.announce(dispatch, of: dispatcher)
  }

  private var isAnnounced: Bool { older != nil }

  /// The scheduler has it, or is about to run it on this thread.
  func enter(by dispatcher: Dispatcher) {
    if delay == nil, let admission {
      let isFound = admission.isFindable || admission.makesKnown
      if isAnnounced {
        // What has a handle of it may have begun to wait, and could not see what it would be behind.
        if isFound { dispatch.accepted(isInLane: isInLane) } else { dispatch.endAcceptance() }
      } else if admission.makesKnown {
        dispatch.refuseRing()
      }
    }
    admission?.entered(dispatch, of: dispatcher)
    for older in older ?? admission?.announce(dispatch, of: dispatcher) ?? [] { older.cancel() }
    if let parent { dispatch.join(parent) }
    if let details = dispatch.details {
      yieldPoint(.setTimer, dispatch.id.description)
      details.startTimer(for: dispatch, startsHere: dispatch.isSynchronous)
    }
  }
}

/// On what terms a dispatch is made.
struct DispatchTerms {
  let admission: DispatchAdmission?
  /// The dispatch whose block makes it, unless it is detached; of a task, what cancels that cancels the dispatch.
  let parent: Dispatch?
  /// Its own one, and that or a sooner one that it inherits.
  let ownDeadline: Deadline?
  let deadline: Deadline?

  init(
    _ options: DispatchOptions, _ mode: Dispatcher.Mode, of dispatcher: Dispatcher,
    on thread: ThreadState, _ dispatch: Dispatch
  ) {
    admission = dispatcher.control(options, mode)
    ownDeadline = dispatcher.deadline(options, admission, at: dispatch.callSite)
    let isAlone = admission?.isDetached == true || dispatch.details?.scheduler?.isTask == true
    parent = isAlone ? nil : DispatchContext.linkedBlock(from: thread.run, on: thread)
    guard let time = parent?.makeDetails().inheritedDeadline, time < ownDeadline?.time ?? .max
    else {
      deadline = ownDeadline
      return
    }
    deadline = Deadline(time: time, nanoseconds: max(time - dispatcher.clock.nanoseconds, 0))
  }
}

extension Dispatcher {
  /// What controls a dispatch; nil for most.
  @inline(__always)
  func control(_ options: DispatchOptions, _ mode: Mode) -> DispatchAdmission? {
    guard let defaultAdmission, !mode.isSync else { return options.control }
    return defaultAdmission.admission(in: mode, with: options.control)
  }

  /// The soonest deadline that the options of a dispatch say, if it is dispatched now.
  func deadline(
    _ options: DispatchOptions, _ admission: DispatchAdmission?, at callSite: CallSite
  ) -> Deadline? {
    let other = admission?.deadline(by: clock, at: callSite)
    if options.timeLimit == .max { return other }
    let own = Deadline(after: options.timeLimit, by: clock.nanoseconds)
    return if let other, other.time < own.time { other } else { own }
  }

  /// Decides whether a dispatch begins that this thread has made; nil where nothing controls it.
  @inline(__always)
  func admit(
    _ dispatch: Dispatch, _ options: DispatchOptions, _ mode: Mode, on thread: ThreadState
  ) throws -> AdmittedDispatch? {
    guard
      options.isControlled || defaultAdmission != nil || mayBeOfBlock(dispatch, on: thread)
    else { return nil }
    return try admit(dispatch, DispatchTerms(options, mode, of: self, on: thread, dispatch), mode)
  }

  /// Whether a block may have made a dispatch; hooks and completions are no blocks.
  @inline(__always)
  func mayBeOfBlock(_ dispatch: Dispatch, on thread: ThreadState) -> Bool {
    dispatch.hasParent && thread.run?.pointee.isInStore != false
  }

  /// The same on terms that were worked out when the dispatch was made.
  @inline(never)
  func admit(
    _ dispatch: Dispatch, _ terms: DispatchTerms, _ mode: Mode
  ) throws -> AdmittedDispatch? {
    if terms.parent == nil, terms.admission == nil, terms.deadline == nil { return nil }
    // Before it has a unit, a key or a lane, for which an end might wait.
    if terms.admission?.isReady == false { pool.runSurplusEnds(on: .current) }
    if let details = terms.parent?.details {
      let inheritance = details.inheritance()
      if inheritance.hasTimedOut { throw DispatchError.timedOut(dispatch.callSite, after: .zero) }
      if inheritance.isCancelled { throw CancellationError() }
    }
    let admission = terms.admission?.begin(
      for: self, at: dispatch.callSite, until: terms.ownDeadline)
    // What is put there before another thread takes part, all that runs the dispatch finds.
    if admission != nil || terms.ownDeadline != nil { dispatch.makeDetails().isControlled = true }
    if let admission {
      let details = dispatch.makeDetails()
      details.isDetached = admission.isDetached
      details.priority = admission.priority(in: mode, of: self)
      details.retry = admission.retryRule.map { StoreRetry(rule: $0, dispatcher: self) }
      if let deadline = terms.deadline { try put(deadline, dispatch, mode) }
      let delay = try begin(dispatch, by: admission, mode)
      // One that joins another runs nothing.
      if !details.isJoining, let gate = admission.gate(for: self) { dispatch.wait(at: gate) }
      return AdmittedDispatch(
        dispatch, by: admission, inBlockOf: terms.parent,
        isInLane: !mode.isSync && !mode.isAsync, after: delay)
    } else if let deadline = terms.deadline {
      try put(deadline, dispatch, mode)
    }
    return AdmittedDispatch(
      dispatch, by: admission, inBlockOf: terms.parent,
      isInLane: !mode.isSync && !mode.isAsync)
  }

  /// Makes a dispatch known where that has to be, and decides; the delay where it begins later.
  private func begin(
    _ dispatch: Dispatch, by admission: DispatchAdmission, _ mode: Mode
  ) throws -> DispatchDelay? {
    var delay: DispatchDelay?
    if admission.makesKnown {
      let thread = ThreadState.current
      makeKnown(dispatch, mode, on: thread)
      if dispatch.route?._withUnsafeGuaranteedRef(\.hasFailed) != true {
        delay = DispatchDelay(of: dispatch, isPossible: !mode.isSync || !thread.isTaskThread)
        dispatch.makeDetails().withState { $0.beginDelay() }
      }
    }
    switch try admission.admit(dispatch, delay, to: self) {
    case .waits:
      return delay
    case .begins:
      if delay != nil { _ = dispatch.makeDetails().withState { $0.endDelay(isUnaccepted: false) } }
    case .joins(let other):
      _ = dispatch.makeDetails().withState { $0.endDelay(isUnaccepted: false) }
      join(dispatch, to: other, mode)
    }
    return nil
  }

  /// A dispatch runs nothing, and ends as another one does: an empty sequence after that.
  private func join(_ dispatch: Dispatch, to other: Dispatch, _ mode: Mode) {
    yieldPoint(.join, dispatch.id.description)
    dispatch.makeDetails().isJoining = true
    dispatch.leaveRoute()
    dispatch.wait(for: dispatch.dispatchesBefore + [other])
    dispatch.put(DispatchSequence.make(joining: other, in: mode, by: self, on: .current))
  }

  private func put(
    _ deadline: Deadline, _ dispatch: Dispatch, _ mode: Mode
  ) throws(DispatchError) {
    let details = dispatch.makeDetails()
    guard deadline.time > clock.nanoseconds else {
      throw .timedOut(dispatch.callSite, after: deadline.duration)
    }
    // Not where a caller's thread or task waits for the stores.
    let endsEarly = !mode.isSync && details.scheduler?.isTask != true
    details.put(
      TimeLimit(
        until: deadline, of: self, endsEarly: endsEarly,
        isOfReduction: !endsEarly && details.retry == nil && dispatch.isReduction))
  }

  /// Ends a dispatch that was not admitted: no hook has been called, and none is.
  ///
  /// The completion runs on the concurrent queue, for `.sync` and in tasks here; without one nothing is queued there. Of
  /// many refused ones no more than a bound are queued (`PendingEnds`).
  @inline(never)
  func refuse(
    _ dispatch: Dispatch, _ error: any Error, _ mode: Mode
  ) -> DispatchHandle {
    let result = dispatch.resultBeforeStart(error)
    dispatch.leaveScheduler()
    if mode.isSync || !dispatch.hasCompletion {
      dispatch.complete(result)
    } else {
      // A cancellation that comes before that has nothing to do, and no scheduler for it.
      dispatch.makeDetails().beginEnding()
      pool.runSurplusEnds(on: .current)
      pool.resumeEnd { dispatch.complete(result) }
    }
    return DispatchHandle(dispatch)
  }
}
