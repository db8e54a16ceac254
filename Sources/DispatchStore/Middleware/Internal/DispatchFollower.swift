/// A hook that is called when dispatches of some action types have ended: the seam for features that react to them.
///
/// A route knows its followers, so dispatches of other action types don't pay for them.
protocol DispatchFollower: AnyObject, Sendable {
  /// Whether it follows actions of a type.
  ///
  /// Called under the registry's lock, and must always give the same answer.
  func responds(to type: any ActionType.Type) -> Bool

  /// Called when a dispatch has ended and its completion has run, before threads and tasks that wait for it resume.
  ///
  /// Runs on that thread, in the dispatch's context, with no lock held.
  func dispatchEnded(_ ended: EndedDispatch)

  /// Called when the dispatcher closes: from now on it accepts only dispatches made by dispatches in flight.
  func dispatcherClosed()
}

/// A dispatch of one action that has ended, as its followers receive it.
final class EndedDispatch {
  let action: any ActionType
  let dispatcher: Dispatcher
  let transaction: TransactionID
  let parent: TransactionID?
  let callSite: CallSite
  let result: DispatchResult
  private let makeDetails: () -> (own: DispatchDetails, around: DispatchDetails?)
  private lazy var details = makeDetails()

  /// - Parameter makeDetails: Makes the details of the dispatch, and of the dispatch whose block or sequence made it.
  init(
    _ session: MiddlewareSession, _ result: DispatchResult,
    _ makeDetails: @escaping () -> (own: DispatchDetails, around: DispatchDetails?)
  ) {
    action = session.action
    dispatcher = session.dispatcher
    transaction = session.id
    parent = session.parent
    callSite = session.callSite
    self.result = result
    self.makeDetails = makeDetails
  }

  /// Counts the work that continues after the end on the dispatch's account.
  ///
  /// Created on first use.
  var followUp: FollowUp { details.own.makeFollowUp(around: details.around) }

  /// The inherited deadline of the dispatch or of the one around it, by the dispatcher's clock.
  var deadline: Int64? {
    details.own.inheritedDeadline ?? details.around?.inheritedDeadline
  }
}
