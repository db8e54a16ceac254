/// A middleware that is also called for each dispatch as a whole, for tests that wait until all have ended.
///
/// The hooks of a middleware say neither whether a completion is still to run, nor anything of an action to
/// which no store responds. Registered like any middleware; called for what is dispatched from then on.
package protocol DispatchWitness: Middleware {
  /// Called on the dispatching thread, before anything else happens of the dispatch.
  func dispatchBegan(_ dispatch: WitnessedDispatch)

  /// Called once the completion has run, before threads and tasks that wait for the handle resume.
  func dispatchEnded(_ id: TransactionID, _ result: DispatchResult)
}

/// One call of `dispatch`, as a witness gets it.
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
