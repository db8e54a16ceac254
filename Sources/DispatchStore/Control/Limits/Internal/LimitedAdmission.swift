/// The admission of one dispatch that has limits, with the units that it has got so far.
///
/// If it does not get a unit, the dispatch begins with an error. The units are released then, or with this object.
final class LimitedAdmission: ControlOptions, @unchecked Sendable {
  // because one thread or task after the other uses it, until the dispatch is admitted, and it is constant then
  private let limitDeadline: Deadline?
  /// The number of limits, the first ones, of which it has units for the dispatch.
  private var unitCount = 0
  private var failure: (any Error)?

  /// - Parameters:
  ///   - values: The values of the dispatch's options, with its limits.
  ///   - deadline: The dispatch's, from before it waits, since waiting counts.
  ///   - refusal: The reason why it begins with no unit at all; nil for most.
  init(_ values: Values, until deadline: Deadline?, refusal: DispatchError?) {
    limitDeadline = deadline
    failure = refusal
    super.init(values)
  }

  override func deadline(by clock: DispatcherClock, at callSite: CallSite) -> Deadline? {
    limitDeadline
  }

  /// Always: the dispatch gets its units before it begins.
  override var isReady: Bool { true }

  override func begin(
    for dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission { self }

  override func send(
    to dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission? { nil }

  override var mustWait: Bool { failure == nil && unitCount < values.limits.count }

  override func admit(
    _ dispatch: Dispatch, laterIn mode: Dispatcher.Mode?, to dispatcher: Dispatcher
  ) throws -> Admission {
    if let failure { throw failure }
    let admission: Admission
    do {
      admission = try super.admit(dispatch, laterIn: mode, to: dispatcher)
    } catch {
      // Before the completion runs.
      fail(error)
      throw error
    }
    // A joining dispatch runs nothing, so it needs no unit.
    if case .joins = admission { giveBack() }
    for limit in values.limits.prefix(unitCount) { limit.giveUnit(to: dispatch) }
    unitCount = 0
    return admission
  }

  override func entered(_ dispatch: Dispatch, of dispatcher: Dispatcher) {
    for limit in values.limits { limit.entered(dispatch) }
  }

  override func giveBack() {
    let count = unitCount
    unitCount = 0
    for limit in values.limits.prefix(count) { limit.leave() }
  }

  deinit { giveBack() }

  // MARK: Its units

  /// Takes units while they are free; returns the limit for which the dispatch waits then, if it may.
  func enter(at callSite: CallSite) -> DispatchLimit? {
    while failure == nil, unitCount < values.limits.count {
      let limit = values.limits[unitCount]
      switch limit.enter(at: callSite) {
      case .unit: unitCount += 1
      case .full: return limit
      case .refused(let error): fail(error)
      }
    }
    return nil
  }

  private func fail(_ error: any Error) {
    failure = error
    giveBack()
  }

  private func waitHasEnded(withUnit: Bool, _ error: @autoclosure () -> any Error) {
    if withUnit { unitCount += 1 } else { fail(error()) }
  }

  /// Acquires the units, for code that blocks its thread if it has to wait.
  func enterBlocking(for dispatcher: Dispatcher, on thread: ThreadState, at callSite: CallSite) {
    while let limit = enter(at: callSite) {
      let caller = DispatchContext.blocked(on: thread)
      guard
        thread.isOfProgram, !MainQueue.isCurrent,
        caller?.andAround.allSatisfy({ $0.isOnCallersThread }) != false
      else {
        return fail(
          DispatchError.wouldDeadlock(
            waitingFor: limit, callSite,
            """
            and its thread may not block: send it from a task, or dispatch it from a thread of the program's own
            """))
      }
      guard let wait = wait(for: limit, of: dispatcher, callSite, in: caller, blocksThread: true)
      else { continue }
      let region = BlockingRegion(on: thread)
      let hasUnit = wait.unit.wait()
      region.end()
      wait.end(of: dispatcher)
      waitHasEnded(withUnit: hasUnit, timedOut(callSite))
    }
  }

  override nonisolated(nonsending) func waitUntilReady(
    for dispatcher: Dispatcher, at callSite: CallSite
  ) async {
    while let limit = enter(at: callSite) {
      let context = DispatchContext.ofTask
      guard let wait = wait(for: limit, of: dispatcher, callSite, in: context, blocksThread: false)
      else { continue }
      let taskWait = TaskWait.begin()
      let hasUnit =
        isDetached
        ? await wait.unit.value
        : await withCancellationHandler {
          await wait.unit.value
        } onCancel: {
          dispatcher.pool.submit(end: .step { limit.endWait(wait.unit) })
        }
      taskWait?.end()
      wait.end(of: dispatcher)
      waitHasEnded(
        withUnit: hasUnit,
        Task.isCancelled && !isDetached ? CancellationError() : timedOut(callSite))
    }
    // The last unit may have come before the cancellation.
    if failure == nil, Task.isCancelled, !isDetached { fail(CancellationError()) }
  }

  private func timedOut(_ callSite: CallSite) -> any Error {
    DispatchError.timedOut(callSite, after: limitDeadline?.duration ?? .zero)
  }

  /// Begins to wait for a unit.
  ///
  /// Returns nil if one has come free, or if the wait would never end, so that the admission has failed.
  private func wait(
    for limit: DispatchLimit, of dispatcher: Dispatcher, _ callSite: CallSite,
    in context: DispatchContext?, blocksThread: Bool
  ) -> WaitForLimit? {
    if let error = deadlock(of: limit, in: context, callSite) {
      fail(error)
      return nil
    }
    let unit = DispatchLimit.Wait()
    if limit.enter(orWait: unit) {
      unitCount += 1
      return nil
    }
    do throws(DispatchError) {
      return try WaitForLimit(
        unit, of: limit, at: dispatcher, callSite, named: values.names, in: context,
        blocksThread: blocksThread, until: limitDeadline)
    } catch {
      limit.endWait(unit)
      // A unit may have come meanwhile.
      unit.whenSet { if $0 { limit.leave() } }
      fail(error)
      return nil
    }
  }

  /// The error of a dispatch that is made inside one that has a unit, whether or not others may free theirs.
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
