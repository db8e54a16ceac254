/// What the registry makes of an action: the stores that take part, in the order in which they run.
enum DispatchPlan {
  case round(Round)
  /// Nothing of it can run.
  case failed(DispatchResult)

  init(
    _ action: any ActionType, for storeIdentifier: String?, of dispatch: Dispatch,
    transaction: TransactionID
  ) {
    do {
      let (entries, chain) = try dispatch.dispatcher.snapshot(
        of: type(of: action), for: storeIdentifier)
      // What reducers are asked here is user code: it may dispatch too.
      var waits: [WaitFor] = []
      dispatch.perform(transaction, part: nil) { waits = entries.map { $0.waitFor(for: action) } }
      let (parts, state) = try Self.order(entries, waits, of: action, by: dispatch.dispatcher)
      self = .round(Round(of: dispatch, transaction, parts: parts, state: state, chain: chain))
    } catch {
      self = .failed(DispatchResult(transaction: transaction, error: error))
    }
  }

  private static func order(
    _ entries: [StoreEntry], _ waits: [WaitFor], of action: any ActionType,
    by dispatcher: Dispatcher
  ) throws(DispatchError) -> ([Part], RoundState) {
    if waits.allSatisfy({ $0.storeIdentifiers.isEmpty }) {
      let parts = entries.map { $0.makePart(of: action, runsRegardless: false) }
      return (parts, RoundState(stores: parts.lazy.map(\.identifier)))
    }
    let sorted = try WaitOrder(
      zip(entries, waits).map { WaitOrder.Participant(identifier: $0.identifier, waitFor: $1) },
      wasRegistered: dispatcher.wasRegistered)
    // Places from here on are those in the order in which the stores run.
    var places = Array(repeating: 0, count: entries.count)
    for (place, entry) in sorted.order.enumerated() { places[entry] = place }
    return (
      sorted.order.map {
        entries[$0].makePart(of: action, runsRegardless: waits[$0].runsRegardless)
      },
      RoundState(
        stores: sorted.order.lazy.map { entries[$0].identifier },
        prerequisites: sorted.order.map { sorted.prerequisites[$0].map { places[$0] } })
    )
  }
}
