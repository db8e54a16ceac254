/// What the registry makes of an action: the stores that take part, in the order in which they run.
enum DispatchPlan {
  case round(Round)
  /// Nothing of it can run.
  case failed(DispatchResult)

  init(
    _ action: any ActionType, for storeIdentifier: String?, of dispatch: Dispatch,
    transaction: TransactionID
  ) {
    let dispatcher = dispatch.dispatcher
    do {
      let (entries, chain) = try dispatcher.snapshot(of: type(of: action), for: storeIdentifier)
      var participants: [WaitOrder.Participant] = []
      // What reducers are asked here is user code: it may dispatch too.
      dispatch.perform(transaction, part: nil) {
        participants = entries.map {
          WaitOrder.Participant(identifier: $0.identifier, waitFor: $0.waitFor(for: action))
        }
      }
      let order = try WaitOrder(participants, wasRegistered: dispatcher.wasRegistered)
      // Places from here on are those in the order in which the stores run.
      var places = Array(repeating: 0, count: entries.count)
      for (place, entry) in order.order.enumerated() { places[entry] = place }
      self = .round(
        Round(
          of: dispatch, transaction,
          parts: order.order.map {
            entries[$0].makePart(of: action, waitFor: participants[$0].waitFor)
          },
          prerequisites: order.order.map { order.prerequisites[$0].map { places[$0] } },
          chain: chain))
    } catch {
      self = .failed(DispatchResult(transaction: transaction, error: error))
    }
  }
}
