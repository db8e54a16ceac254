/// The admission of one dispatch that has limits, with the units that it has got so far.
///
/// If it does not get a unit, the dispatch begins with an error. The units are released then, or with this object.
final class LimitedAdmission: DispatchAdmission, @unchecked Sendable {
  // because one thread or task after the other uses it, until the dispatch is admitted, and it is constant then
  /// The admission that follows from the dispatch's other options.
  private let base: DispatchAdmission?
  private let limits: [DispatchLimit]
  private let limitDeadline: Deadline?
  private var units: [LimitUnit] = []
  private var failure: (any Error)?

  /// - Parameters:
  ///   - deadline: The dispatch's, from before it waits, since waiting counts.
  ///   - refusal: The reason why it begins with no unit at all; nil for most.
  init(
    _ limits: [DispatchLimit], _ base: DispatchAdmission?, until deadline: Deadline?,
    refusal: DispatchError? = nil
  ) {
    self.limits = limits
    self.base = base
    limitDeadline = deadline
    failure = refusal
  }

  override var isDetached: Bool { base?.isDetached == true }
  override var isAtomic: Bool { base?.isAtomic == true }
  override var retryRule: (any RetryRule)? { base?.retryRule }
  override var endsUnsaved: Bool { base?.endsUnsaved == true }
  override func gate(for dispatcher: Dispatcher) -> StartGate? { base?.gate(for: dispatcher) }

  override func priority(
    in mode: Dispatcher.Mode, of dispatcher: Dispatcher
  ) -> PriorityInbox.Level? {
    base?.priority(in: mode, of: dispatcher)
  }

  override var takesDefaultTimeLimit: Bool { base?.takesDefaultTimeLimit ?? true }

  override func deadline(by clock: DispatcherClock, at callSite: CallSite) -> Deadline? {
    limitDeadline
  }

  /// Returns nil: the dispatch has got its units, or has failed.
  override func send(
    to dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> SendAdmission? { nil }

  override var isReady: Bool { true }
  override var makesKnown: Bool { base?.makesKnown == true }

  override func admit(
    _ dispatch: Dispatch, mayWait: Bool?, to dispatcher: Dispatcher
  ) throws -> Admission {
    if let failure { throw failure }
    let admission = try base?.admit(dispatch, mayWait: mayWait, to: dispatcher) ?? .begins
    if case .joins = admission {
      // A joining dispatch runs nothing, so it needs no unit.
      for unit in units { unit.leave() }
      units = []
    }
    for unit in units { unit.give(to: dispatch) }
    return admission
  }

  override var isFindable: Bool { base?.isFindable == true }
  override var isCancellable: Bool { base?.isCancellable == true }

  override func announce(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> [Dispatch] {
    base?.announce(dispatch, of: dispatcher) ?? []
  }

  override func entered(_ dispatch: Dispatch, of dispatcher: Dispatcher) {
    for unit in units { unit.entered(dispatch) }
    base?.entered(dispatch, of: dispatcher)
  }

  // MARK: Its units

  /// The obstacle between the dispatch and its next unit.
  private enum Obstacle {
    case none
    /// The dispatch waits for this limit, if it may.
    case wait(DispatchLimit)
  }

  private func enter(at callSite: CallSite) -> Obstacle {
    while failure == nil, units.count < limits.count {
      let limit = limits[units.count]
      switch limit.enter(at: callSite) {
      case .unit(let unit): units.append(unit)
      case .full: return .wait(limit)
      case .refused(let error): fail(error)
      }
    }
    return .none
  }

  private func fail(_ error: any Error) {
    failure = error
    let left = units
    units = []
    for unit in left { unit.leave() }
  }

  private func take(_ unit: LimitUnit?, _ error: @autoclosure () -> any Error) {
    if let unit { units.append(unit) } else { fail(error()) }
  }

  /// Acquires the units, for code that blocks its thread if it has to wait.
  func enterBlocking(for dispatcher: Dispatcher, on thread: ThreadState, at callSite: CallSite) {
    while case .wait(let limit) = enter(at: callSite) {
      let caller = DispatchContext.blocked(on: thread)
      guard
        thread.isOfProgram, !MainQueue.isCurrent,
        caller?.andAround.allSatisfy({ $0.dispatch.isSynchronous }) != false
      else {
        return fail(
          DispatchError.wouldDeadlock(
            waitingFor: limit, callSite,
            """
            and its thread may not block: send it from a task, or dispatch it from a thread of the program's own
            """))
      }
      if let error = deadlock(of: limit, in: caller, callSite) { return fail(error) }
      let waiter = LimitWaiter(for: limit)
      if let unit = limit.enter(orWait: waiter) {
        units.append(unit)
        continue
      }
      let timer = limitDeadline.map { dispatcher.timers.add(waiter, at: $0.time) }
      let wait = WaitForLimit(limit, of: dispatcher, callSite, in: caller)
      let region = BlockingRegion(on: thread)
      let unit = waiter.end.wait()
      region.end()
      wait.end(of: dispatcher)
      if let timer { dispatcher.timers.remove(timer) }
      take(unit, timedOut(callSite))
    }
  }

  /// Acquires the units for a task, or returns the first wait that it needs.
  func enterSending(to dispatcher: Dispatcher, at callSite: CallSite) -> SendAdmission {
    guard case .wait(let limit) = enter(at: callSite) else { return .ready(self) }
    if let error = deadlock(of: limit, in: DispatchContext.ofTask, callSite) {
      fail(error)
      return .ready(self)
    }
    return .waits(LimitWait(of: self, for: limit, dispatcher, callSite))
  }

  /// Waits for a unit in a task, then for the missing ones.
  fileprivate nonisolated(nonsending) func wait(
    for limit: DispatchLimit, _ dispatcher: Dispatcher, _ callSite: CallSite
  ) async {
    var next = limit
    while true {
      let waiter = LimitWaiter(for: next)
      if let unit = next.enter(orWait: waiter) {
        units.append(unit)
      } else {
        let timer = limitDeadline.map { dispatcher.timers.add(waiter, at: $0.time) }
        let wait = WaitForLimit(next, of: dispatcher, callSite, in: DispatchContext.ofTask)
        let unit =
          isDetached
          ? await waiter.end.value
          : await withCancellationHandler {
            await waiter.end.value
          } onCancel: {
            dispatcher.pool.resume { waiter.cancel() }
          }
        wait.end(of: dispatcher)
        if let timer { dispatcher.timers.remove(timer) }
        take(unit, Task.isCancelled && !isDetached ? CancellationError() : timedOut(callSite))
      }
      guard case .wait(let limit) = enter(at: callSite) else { return }
      next = limit
    }
  }

  private func timedOut(_ callSite: CallSite) -> any Error {
    DispatchError.timedOut(callSite, after: limitDeadline?.duration ?? .zero)
  }

  /// The error of a wait that would not end: an enclosing dispatch has a unit, and continues only after this one.
  private func deadlock(
    of limit: DispatchLimit, in context: DispatchContext?, _ callSite: CallSite
  ) -> DispatchError? {
    guard let holder = context?.andAround.first(where: { limit.isHeld(by: $0.dispatch) }) else {
      return nil
    }
    return .wouldDeadlock(
      waitingFor: limit, callSite,
      """
      and is made inside one of them (\(holder.dispatch.callSite)), which goes on only after it
      """)
  }
}

/// The wait of a sending task for the units of its dispatch.
private final class LimitWait: AdmissionWait, @unchecked Sendable {
  // because all that it has is constant
  private let admission: LimitedAdmission
  private let limit: DispatchLimit
  private let dispatcher: Dispatcher
  private let callSite: CallSite

  init(
    of admission: LimitedAdmission, for limit: DispatchLimit, _ dispatcher: Dispatcher,
    _ callSite: CallSite
  ) {
    (self.admission, self.limit) = (admission, limit)
    (self.dispatcher, self.callSite) = (dispatcher, callSite)
  }

  override nonisolated(nonsending) func ended() async -> DispatchAdmission {
    await admission.wait(for: limit, dispatcher, callSite)
    return admission
  }
}
