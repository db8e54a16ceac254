/// The wait of a call for a unit of a limit, as diagnoses and the wait graph know it.
///
/// The call has not become a dispatch, and so is in no other table.
final class WaitForLimit: Sendable {
  let waiter: LimitWaiter
  let callSite: CallSite
  /// The dispatch that goes on only after the call, if there is one.
  let caller: Dispatch?
  /// The start of the wait, in nanoseconds of the dispatcher's clock.
  let began: Int64
  /// Nil if the wait holds up no dispatch.
  private let wait: WaitGraph.Wait?
  /// Cancels the waiter at the deadline; nil without one.
  private let timer: TimerToken?

  /// Begins the wait of a waiter that is in the limit's line; throws `wouldDeadlock`.
  ///
  /// - Parameters:
  ///   - context: The context that the wait holds up.
  ///   - blocksThread: Whether the wait blocks the thread, and not only the task.
  init(
    _ waiter: LimitWaiter, of dispatcher: Dispatcher, _ callSite: CallSite,
    in context: DispatchContext?, blocksThread: Bool, until deadline: Deadline?
  ) throws(DispatchError) {
    (self.waiter, self.callSite, caller) = (waiter, callSite, context?.waitingDispatch)
    began = dispatcher.clock.nanoseconds
    if let context {
      let call = Dispatch(standIn: .make(on: .current), at: callSite)
      call.makeDetails().withState { $0.wait(at: UnitGate(waiter)) }
      if blocksThread { call.outer = context }
      wait =
        try blocksThread ? WaitGraph.begin(call) : WaitGraph.begin(context, for: .dispatch(call))
    } else {
      wait = nil
    }
    timer = deadline.map { dispatcher.timers.add(at: $0.time) { waiter.cancel() } }
    dispatcher.controlTables.waits.withLock { $0[ObjectIdentifier(self)] = self }
  }

  func end(of dispatcher: Dispatcher) {
    dispatcher.controlTables.waits.withLockReleasing {
      $0.removeValue(forKey: ObjectIdentifier(self))
    }
    if let wait { WaitGraph.end(wait) }
    if let timer { dispatcher.timers.remove(timer) }
  }

  var limit: DispatchLimit { waiter.limit }

  /// The reason for the wait, as text that follows "waits for ".
  var text: String {
    "a unit of \"\(limit.name)\" (\(limit.inFlight) of \(limit.bound) are in flight)"
  }
}
