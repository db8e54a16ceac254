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

  /// Throws if the block that makes the dispatch was cancelled, or has timed out.
  func checkBlock(at callSite: CallSite) throws {
    guard let inheritance = parent?.details?.inheritance() else { return }
    if inheritance.hasTimedOut { throw DispatchError.timedOut(callSite, after: .zero) }
    if inheritance.isCancelled { throw CancellationError() }
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
    try terms.checkBlock(at: dispatch.callSite)
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
    if let deadline = terms.deadline {
      do throws(DispatchError) {
        try put(deadline, dispatch, mode, mayEndEarly: admission?.mayEndEarly != false)
      } catch {
        admission?.giveBack()
        throw error
      }
    }
    // The thread may have been blocked for a unit meanwhile.
    if admission !== terms.admission { try terms.checkBlock(at: dispatch.callSite) }
    let delay = try admission.flatMap { try decide(on: dispatch, by: $0, mode) }
    // A joining dispatch runs nothing.
    if dispatch.details?.isJoining != true, let gate = admission?.gate(for: self) {
      dispatch.wait(at: gate)
    }
    return AdmittedDispatch(
      dispatch: dispatch, admission: admission, parent: terms.parent,
      isInLane: !mode.isSync && !mode.isAsync, delay: delay)
  }

  /// Makes a dispatch known if necessary, and decides; returns the delay if it begins later.
  private func decide(
    on dispatch: Dispatch, by admission: DispatchAdmission, _ mode: Mode
  ) throws -> (any DelayedStart)? {
    var laterMode: Mode?
    if admission.makesKnown {
      makeKnown(dispatch, mode, on: .current)
      if dispatch.route?._withUnsafeGuaranteedRef(\.hasFailedForAll) != true {
        laterMode = mode
        dispatch.makeDetails().withState { $0.beginDelay() }
      }
    }
    let decision = try admission.admit(dispatch, laterIn: laterMode, to: self)
    if case .waits(let start) = decision { return start }
    if laterMode != nil {
      _ = dispatch.makeDetails().withState { $0.endDelay(isUnaccepted: false) }
    }
    if case .joins(let other) = decision { join(dispatch, to: other, mode) }
    return nil
  }

  /// Turns a dispatch into an empty sequence that runs nothing and ends as another dispatch does.
  private func join(_ dispatch: Dispatch, to other: Dispatch, _ mode: Mode) {
    yieldPoint(.join, dispatch.id.description)
    dispatch.makeDetails().isJoining = true
    if let continuations = pool.continuations {
      let id = dispatch.id
      continuations.add(dispatch)
      dispatch.whenEnded { continuations.remove(id) }
    }
    dispatch.wait(for: dispatch.dispatchesBefore + [other])
    let nothing = DispatchSubject(actions: [], storeIdentifier: nil, isSequence: true)
    put(DispatchSequence(nothing, joining: other, in: mode, by: self), dispatch, on: .current)
  }

  private func put(
    _ deadline: Deadline, _ dispatch: Dispatch, _ mode: Mode, mayEndEarly: Bool
  ) throws(DispatchError) {
    let details = dispatch.makeDetails()
    guard deadline.time > clock.nanoseconds else {
      throw .timedOut(dispatch.callSite, after: deadline.duration)
    }
    // A caller's thread or task waits for the stores.
    let isAwaited = mode.isSync || details.scheduler?.isTask == true
    details.put(
      TimeLimit(
        until: deadline, of: self, endsEarly: mayEndEarly && !isAwaited,
        isOfReduction: isAwaited && details.retry == nil && dispatch.isReduction))
  }
}
