/// The wait of a call for a unit of a limit, as diagnoses and the wait graph know it.
///
/// The call has not become a dispatch, and so is in no other table. The wait is the gate of a record that stands in for it, by
/// which the wait graph finds those that have the units.
final class WaitForLimit: StartGate, @unchecked Sendable {
  // because the waiting thread or task makes and ends it, and others read its constants alone
  let unit: DispatchLimit.Wait
  let limit: DispatchLimit
  let callSite: CallSite
  /// The names that its dispatch gets.
  let names: [TypedKey]
  let deadline: Deadline?
  /// The dispatch that goes on only after the call, if there is one.
  let caller: Dispatch?
  /// The start of the wait, in nanoseconds of the dispatcher's clock.
  let began: Int64
  /// Nil if the wait holds up no dispatch.
  private var wait: WaitGraph.Wait?
  /// Ends the wait at the deadline; nil without one.
  private var timer: TimerToken?

  /// Begins a wait that is in the limit's line; throws `wouldDeadlock`.
  ///
  /// - Parameters:
  ///   - names: The names that its dispatch gets, by which nothing finds it before.
  ///   - context: The context that the wait holds up.
  ///   - blocksThread: Whether the wait blocks the thread, and not only the task.
  init(
    _ unit: DispatchLimit.Wait, of limit: DispatchLimit, at dispatcher: Dispatcher,
    _ callSite: CallSite, named names: [TypedKey], in context: DispatchContext?,
    blocksThread: Bool, until deadline: Deadline?
  ) throws(DispatchError) {
    (self.unit, self.limit, self.names, self.deadline) = (unit, limit, names, deadline)
    (self.callSite, caller) = (callSite, context?.waitingDispatch)
    began = dispatcher.clock.nanoseconds
    super.init()
    if let context {
      let call = Dispatch(standIn: .make(on: .current), at: callSite)
      call.makeDetails().withState { $0.wait(at: self) }
      if blocksThread { call.outer = context }
      wait =
        try blocksThread ? WaitGraph.begin(call) : WaitGraph.begin(context, for: .dispatch(call))
    }
    timer = deadline.map { dispatcher.timers.add(at: $0.time) { limit.endWait(unit) } }
    dispatcher.controlTables.waits.withLock { $0[ObjectIdentifier(self)] = self }
  }

  func end(of dispatcher: Dispatcher) {
    dispatcher.controlTables.waits.withLockReleasing {
      $0.removeValue(forKey: ObjectIdentifier(self))
    }
    if let wait { WaitGraph.end(wait) }
    if let timer { dispatcher.timers.remove(timer) }
  }

  override var units: UnitHolders? {
    let holders = limit.holders
    // A unit that no dispatch has belongs to a call that is about to go on.
    guard holders.count == limit.bound, !unit.isSet else { return nil }
    // In an order that a simulation repeats.
    return UnitHolders(
      limit: ObjectIdentifier(limit), name: limit.name, dispatches: holders.sorted { $0.id < $1.id }
    )
  }

  /// The reason for the wait, as text that follows "waits for ".
  var text: String {
    "a unit of \"\(limit.name)\" (\(limit.inFlight) of \(limit.bound) are in flight)"
  }
}
