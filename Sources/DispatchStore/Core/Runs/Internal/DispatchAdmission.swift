/// Admission control of a dispatch: whether it may begin, and who gets to know it.
///
/// Features that control dispatches subclass it.
@usableFromInline
class DispatchAdmission: @unchecked Sendable {
  // because a subclass has only constants
  /// Returns the control of a dispatch that has other options, too.
  func adding(_ others: ArraySlice<DispatchOptions>) -> DispatchAdmission { self }

  /// Returns the control of a dispatch of several actions.
  func ofList(_ actions: [any ActionType]) -> DispatchAdmission { self }

  /// Whether it inherits neither cancellation nor deadline from the block that dispatches it.
  var isDetached: Bool { false }

  /// Whether all stores of the dispatch change, or none.
  var isAtomic: Bool { false }

  /// Whether it does no more than make the dispatch atomic.
  var isOnlyAtomic: Bool { false }

  /// Returns the deadline of a dispatch made now, apart from its options.
  func deadline(by clock: DispatcherClock, at callSite: CallSite) -> Deadline? { nil }

  /// Whether the dispatcher's default time limit applies.
  var takesDefaultTimeLimit: Bool { true }

  /// Returns the priority on the concurrent queue, or for a turn in a lane; nil for the normal one.
  func priority(in mode: Dispatcher.Mode, of dispatcher: Dispatcher) -> PriorityInbox.Level? { nil }

  /// Whether the end does not wait until its commits are saved.
  var endsUnsaved: Bool { false }

  /// Whether a gate may reject it instead of holding it back; false if that would leave work half done.
  var mayBeRejected: Bool { true }

  /// The rule by which failed stores are retried.
  var retryRule: (any RetryRule)? { nil }

  /// Returns the gate that a dispatch has to pass in its turn, before it starts; nil for most.
  ///
  /// Called on the dispatching thread, before hooks and scheduling.
  func gate(for dispatcher: Dispatcher) -> StartGate? { nil }

  /// Returns the admission control of one dispatch, usually itself.
  ///
  /// May block the thread until a unit of a limit is free.
  ///
  /// Called on the dispatching thread, before hooks and scheduling.
  ///
  /// - Parameter deadline: The dispatch's own deadline, or a sooner one that it inherits. The thread is blocked until
  ///   then at most.
  func begin(
    for dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission { self }

  /// Acquires the resources of a dispatch sent from a task, before it begins; nil if it needs none.
  func send(
    to dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> SendAdmission? { nil }

  /// Waits in a sending task, before its dispatch begins.
  ///
  /// Returns also if the task was cancelled, or its time has passed.
  nonisolated(nonsending) func waitUntilReady(
    for dispatcher: Dispatcher, at callSite: CallSite
  ) async {}

  /// Whether `begin` and `send` have no more to do: it has its units of limits, or an earlier answer.
  var isReady: Bool { false }

  /// Whether `admit` shares a dispatch with others, which may wait for it or end it before it begins.
  var makesKnown: Bool { false }

  /// Decides whether a dispatch begins.
  ///
  /// Throws the reason if not.
  ///
  /// Called on the dispatching thread, before hooks and scheduling, while no other thread knows the dispatch.
  ///
  /// - Parameter mayWait: Whether the dispatch may begin later: false if it would block a system thread for tasks, nil
  ///   if it ends at once with an error of the dispatcher's.
  func admit(
    _ dispatch: Dispatch, mayWait: Bool?, to dispatcher: Dispatcher
  ) throws -> Admission { .begins }

  /// Whether others can get a handle of the dispatch, or wait for it, once it is announced.
  var isFindable: Bool { false }

  /// Whether others than its handle, its task and a deadline may cancel the dispatch once it is announced.
  var isCancellable: Bool { false }

  /// Makes the dispatch known to others before its stores can begin.
  ///
  /// They may cancel it from here on.
  ///
  /// - Returns: The dispatches to cancel once the scheduler has this one.
  func announce(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> [Dispatch] { [] }

  /// Called when the scheduler has the dispatch, or when the caller's thread or task is about to run it.
  ///
  /// The dispatch may have ended.
  func entered(_ dispatch: Dispatch, of dispatcher: Dispatcher) {}
}

/// The decision about a dispatch that is not refused.
enum Admission {
  /// The dispatch begins now.
  case begins
  /// The dispatch begins later.
  case waits(any DelayedStart)
  /// The dispatch runs nothing, and ends as the other one does.
  case joins(Dispatch)
}

/// The reason why a dispatch doesn't begin: it has the result of an earlier one.
struct RecordedResult: Error {
  let result: DispatchResult
}

/// The next step of a task that sends a dispatch.
enum SendAdmission {
  /// Begins the dispatch with this admission control.
  case ready(DispatchAdmission)
  /// Begins the dispatch with this admission control, once that has waited.
  case waits(DispatchAdmission)
}

/// Admission control for all dispatches of a dispatcher, besides their own options.
class DefaultAdmission: @unchecked Sendable {
  // because a subclass has only constants
  /// Whether it controls dispatches in `.sync`, too.
  var controlsSync: Bool { false }

  /// The time limit in nanoseconds of a dispatch that says nothing about its own; `Int64.max` for none.
  var timeLimit: Int64 { .max }

  /// Returns the admission control of a dispatch with its own one; without a mode, that of a group.
  func admission(in mode: Dispatcher.Mode?, with own: DispatchAdmission?) -> DispatchAdmission? {
    own
  }
}

/// An admitted dispatch, with the actions before and after its scheduler gets it.
struct AdmittedDispatch {
  private let dispatch: Dispatch
  private let admission: DispatchAdmission?
  private let parent: Dispatch?
  private let isInLane: Bool
  /// The dispatches that it replaces, once it is announced.
  private var older: [Dispatch]?
  /// The delay; nil if the dispatch begins at once.
  let delay: (any DelayedStart)?

  init(
    _ dispatch: Dispatch, by admission: DispatchAdmission?,
    inBlockOf parent: Dispatch?, isInLane: Bool, after delay: (any DelayedStart)? = nil
  ) {
    self.dispatch = dispatch
    self.delay = delay
    self.parent = parent
    self.isInLane = isInLane
    self.admission = admission
  }

  /// Makes the dispatch known before a scheduler gets it.
  ///
  /// The scheduler may start it at once, and its block already finds it.
  ///
  /// A cancellation before the scheduler has it is noted, and takes effect in `enter`.
  mutating func announce(by dispatcher: Dispatcher) {
    guard let admission else { return }
    // A delayed dispatch can be ended as it is.
    if delay == nil { dispatch.makeDetails().withState { $0.awaitAcceptance() } }
    older = admission.announce(dispatch, of: dispatcher)
  }

  private var isAnnounced: Bool { older != nil }

  /// Called when the scheduler has the dispatch, or is about to run it on this thread.
  func enter(by dispatcher: Dispatcher) {
    if delay == nil, let admission {
      let isFound = admission.isFindable || admission.makesKnown
      if isAnnounced {
        // Another thread may already wait for this handle. It could not yet know what the dispatch would wait behind.
        if isFound { dispatch.accepted(isInLane: isInLane) } else { dispatch.endAcceptance() }
      } else if admission.makesKnown {
        dispatch.accepted(isInLane: true)
      }
    }
    admission?.entered(dispatch, of: dispatcher)
    for older in older ?? admission?.announce(dispatch, of: dispatcher) ?? [] { older.cancel() }
    if let parent { dispatch.join(parent) }
    if let details = dispatch.details {
      yieldPoint(.setTimer, dispatch.id.description)
      details.startTimer(startsHere: dispatch.isSynchronous) { [dispatch] in dispatch.timerFired() }
    }
  }
}

/// The terms of a dispatch: its admission control, parent and deadlines.
struct DispatchTerms {
  let admission: DispatchAdmission?
  /// The dispatch whose block makes it, unless it is detached.
  ///
  /// Nil in a task, whose cancellation cancels the dispatch.
  let parent: Dispatch?
  /// The dispatch's own deadline.
  ///
  /// `deadline` is that one or a sooner, inherited one.
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
    deadline = dispatcher.sooner(of: ownDeadline, parent?.makeDetails().inheritedDeadline)
  }
}

extension Dispatcher {
  /// Returns the admission control of a dispatch; nil for most.
  @inline(__always)
  func control(_ options: DispatchOptions, _ mode: Mode) -> DispatchAdmission? {
    guard let defaultAdmission else { return options.control }
    return defaultAdmission.admission(in: mode, with: options.control)
  }

  /// Returns the soonest deadline that the options of a dispatch made now set, or else the default one.
  func deadline(
    _ options: DispatchOptions, _ admission: DispatchAdmission?, at callSite: CallSite
  ) -> Deadline? {
    let other = admission?.deadline(by: clock, at: callSite)
    var limit = options.timeLimit
    if limit == .max, other == nil, admission?.takesDefaultTimeLimit != false, let defaultAdmission
    {
      limit = defaultAdmission.timeLimit
    }
    if limit >= DispatchOptions.unlimited { return other }
    let own = Deadline(
      time: clock.nanoseconds.addingClamped(limit - options.timeSpent), nanoseconds: limit)
    return if let other, other.time < own.time { other } else { own }
  }

  /// Returns a deadline, or an inherited one if that is sooner.
  func sooner(of own: Deadline?, _ inherited: InheritedDeadline?) -> Deadline? {
    guard let inherited else { return own }
    let now = clock.nanoseconds
    let time = inherited.time(by: clock, at: now)
    guard time < own?.time ?? .max else { return own }
    return Deadline(time: time, nanoseconds: max(time - now, 0))
  }

  /// Decides whether a dispatch of this thread begins; nil if nothing controls it.
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

  /// Decides whether a dispatch begins, on terms that were worked out when it was made.
  @inline(never)
  func admit(
    _ dispatch: Dispatch, _ terms: DispatchTerms, _ mode: Mode
  ) throws -> AdmittedDispatch? {
    if terms.parent == nil, terms.admission == nil, terms.deadline == nil { return nil }
    // Before the dispatch acquires a unit, a key or a lane that an end might wait for.
    if terms.admission?.isReady == false { pool.runSurplusEnds(on: .current) }
    if let details = terms.parent?.details {
      let inheritance = details.inheritance()
      if inheritance.hasTimedOut { throw DispatchError.timedOut(dispatch.callSite, after: .zero) }
      if inheritance.isCancelled { throw CancellationError() }
    }
    let admission = terms.admission?.begin(
      for: self, at: dispatch.callSite, until: terms.deadline)
    // Added before another thread takes part, so that every step finds it.
    if admission?.isCancellable == true || terms.ownDeadline != nil {
      dispatch.makeDetails().isCancellable = true
    }
    if let admission {
      let details = dispatch.makeDetails()
      details.isDetached = admission.isDetached
      details.endsUnsaved = admission.endsUnsaved
      details.mayBeRejected = admission.mayBeRejected
      details.isAtomic = admission.isAtomic
      details.priority = admission.priority(in: mode, of: self)
      details.retry = admission.retryRule.map { StoreRetry(rule: $0, dispatcher: self) }
    }
    if let deadline = terms.deadline { try put(deadline, dispatch, mode) }
    let delay = try admission.flatMap { try decide(on: dispatch, by: $0, mode) }
    // A joining dispatch runs nothing.
    if dispatch.details?.isJoining != true, let gate = admission?.gate(for: self) {
      dispatch.wait(at: gate)
    }
    return AdmittedDispatch(
      dispatch, by: admission, inBlockOf: terms.parent,
      isInLane: !mode.isSync && !mode.isAsync, after: delay)
  }

  /// Makes a dispatch known if necessary, and decides; returns the delay if it begins later.
  private func decide(
    on dispatch: Dispatch, by admission: DispatchAdmission, _ mode: Mode
  ) throws -> (any DelayedStart)? {
    var mayWait: Bool?
    if admission.makesKnown {
      let thread = ThreadState.current
      makeKnown(dispatch, mode, on: thread)
      if dispatch.route?._withUnsafeGuaranteedRef(\.hasFailedForAll) != true {
        mayWait = !mode.isSync || !thread.isTaskThread
        dispatch.makeDetails().withState { $0.beginDelay() }
      }
    }
    switch try admission.admit(dispatch, mayWait: mayWait, to: self) {
    case .waits(let start):
      return start
    case .begins:
      if mayWait != nil {
        _ = dispatch.makeDetails().withState { $0.endDelay(isUnaccepted: false) }
      }
    case .joins(let other):
      _ = dispatch.makeDetails().withState { $0.endDelay(isUnaccepted: false) }
      join(dispatch, to: other, mode)
    }
    return nil
  }

  /// Turns a dispatch into an empty sequence that runs nothing and ends as another dispatch does.
  private func join(_ dispatch: Dispatch, to other: Dispatch, _ mode: Mode) {
    yieldPoint(.join, dispatch.id.description)
    dispatch.makeDetails().isJoining = true
    dispatch.leaveRoute()
    dispatch.wait(for: dispatch.dispatchesBefore + [other])
    dispatch.put(
      DispatchSequence(of: dispatch, [], joining: other, in: mode, by: self, on: .current))
  }

  private func put(
    _ deadline: Deadline, _ dispatch: Dispatch, _ mode: Mode
  ) throws(DispatchError) {
    let details = dispatch.makeDetails()
    guard deadline.time > clock.nanoseconds else {
      throw .timedOut(dispatch.callSite, after: deadline.duration)
    }
    // Not if a caller's thread or task waits for the stores.
    let endsEarly = !mode.isSync && details.scheduler?.isTask != true
    details.put(
      TimeLimit(
        until: deadline, of: self, endsEarly: endsEarly,
        isOfReduction: !endsEarly && details.retry == nil && dispatch.isReduction))
  }
}
