/// The wait of a call for a unit of a limit, as diagnoses show it.
final class WaitForLimit: WaitDescribing {
  private let limit: DispatchLimit
  private let call: PendingCall

  /// Begins the wait.
  ///
  /// - Parameter context: The context that the wait holds up.
  init(
    _ limit: DispatchLimit, of dispatcher: Dispatcher, _ callSite: CallSite,
    in context: DispatchContext?
  ) {
    self.limit = limit
    call = PendingCall(
      callSite: callSite, caller: context?.dispatch, began: dispatcher.clock.nanoseconds)
    dispatcher.pendingWaits.add(self)
  }

  func end(of dispatcher: Dispatcher) {
    dispatcher.pendingWaits.remove(self)
  }

  var subject: WaitSubject { .call(call) }

  func describeWait() -> WaitDescription {
    let figures = limit.statistics
    return WaitDescription(
      text: "a unit of \"\(limit.name)\" (\(figures.inFlight) of \(figures.bound) are in flight)",
      queue: ObjectIdentifier(limit), awaited: { [limit] in limit.holders })
  }
}
