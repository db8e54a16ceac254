/// What the registry makes of an action: the stores that take part, in the order in which they run.
enum DispatchPlan {
  case round(Round)
  /// Nothing of it can run.
  case failed(DispatchResult)

  init(
    _ action: any ActionType, for storeIdentifier: String?, of dispatch: Dispatch,
    by dispatcher: Dispatcher, transaction: TransactionID
  ) {
    let given: Unmanaged<Route>
    do {
      given = try dispatcher.responders(
        to: type(of: action), identifier: storeIdentifier, on: .current)
    } catch {
      self = .failed(DispatchResult(transaction: transaction, error: error))
      return
    }
    let responders = given.takeUnretainedValue()
    given._withUnsafeGuaranteedRef { $0.end() }
    // What reducers are asked here is user code: it may dispatch too.
    var refined: [WaitFor?] = []
    dispatch.perform(transaction, part: nil) {
      refined = responders.registered.map { $0.refinedWaitFor(for: action) }
    }
    do {
      let (parts, state) = try Self.order(responders, refined, action, by: dispatcher)
      self = .round(
        Round(of: dispatch, transaction, parts: parts, state: state, chain: responders.chain))
    } catch {
      self = .failed(DispatchResult(transaction: transaction, error: error))
    }
  }

  /// - Parameter refined: What the reducers say of the order, in order of registration.
  private static func order(
    _ responders: Route, _ refined: [WaitFor?], _ action: any ActionType,
    by dispatcher: Dispatcher
  ) throws(DispatchError) -> ([StoreRun], RoundState) {
    let present = dispatcher.present(responders.registered)
    if responders.isOrdered, present.count == responders.entries.count,
      refined.allSatisfy({ $0 == nil })
    {
      let parts = responders.entries.map { $0.makeStoreRun(of: action, waitFor: $0.waitFor) }
      return (
        parts,
        RoundState(stores: responders.identifiers, prerequisites: responders.prerequisites)
      )
    }
    let waits = zip(responders.registered, refined).map { entry, refined in
      (entry: entry, waitFor: refined ?? entry.waitFor)
    }.filter { wait in present.contains { $0 === wait.entry } }
    let order = try WaitOrder(
      waits.map { WaitOrder.Participant(identifier: $0.entry.identifier, waitFor: $0.waitFor) },
      wasRegistered: dispatcher.wasRegistered)
    return (
      order.order.map { waits[$0].entry.makeStoreRun(of: action, waitFor: waits[$0].waitFor) },
      RoundState(
        stores: order.order.map { waits[$0].entry.identifier },
        prerequisites: order.prerequisitesInOrder)
    )
  }
}
