/// A middleware that also hears of each dispatch as a whole, for tests that wait until all have ended.
///
/// What a middleware hears does not tell whether a completion is still to run, and nothing of an action
/// to which no store responds. Registered like any middleware; it then hears of what is dispatched from
/// then on.
package protocol DispatchWitness: Middleware {
  /// Called on the dispatching thread, before anything else happens of the dispatch.
  func dispatchBegan(_ dispatch: WitnessedDispatch)

  /// Called once the completion has run, before those go on who await the handle.
  func dispatchEnded(_ id: TransactionID, _ result: DispatchResult)
}

/// One call of `dispatch`, as a witness hears of it.
package struct WitnessedDispatch: Sendable {
  /// Of several actions, the transaction that the actions' own have as parent.
  package let id: TransactionID
  /// The transaction from inside which it was dispatched.
  package let parent: TransactionID?
  package let actions: [AnyAction]
  package let isSequence: Bool
  package let mode: Dispatcher.Mode
  package let callSite: CallSite
}

extension Dispatch {
  /// Tells the witnesses that it begins; those will hear of its end.
  func tellBegin(of request: DispatchRequest, to witnesses: [any DispatchWitness]) {
    details?.witnesses = witnesses
    let (actions, isSequence) =
      switch request.actions {
      case .one(let action): ([action], false)
      case .several(let actions): (actions, true)
      }
    let told = WitnessedDispatch(
      id: id, parent: parent, actions: actions, isSequence: isSequence, mode: request.mode,
      callSite: callSite)
    for witness in witnesses { witness.dispatchBegan(told) }
  }
}
