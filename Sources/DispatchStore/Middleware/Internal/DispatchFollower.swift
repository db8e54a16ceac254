/// What is called when dispatches of some action types have ended: the seam for what follows them.
///
/// A route knows its followers. So a dispatch of another action type does not pay for them.
protocol DispatchFollower: AnyObject, Sendable {
  /// Whether it follows actions of a type; the same each time, and under the registry's lock.
  func responds(to type: any ActionType.Type) -> Bool

  /// A dispatch has ended, and its completion has run; threads and tasks that wait for it resume afterwards.
  ///
  /// On that thread, in the dispatch's context, with no lock held.
  func dispatchEnded(_ ended: EndedDispatch)

  /// The dispatcher accepts only what dispatches under way dispatch, from now on.
  func dispatcherClosed()
}

/// A dispatch of one action that has ended, as its followers get it.
final class EndedDispatch {
  let action: any ActionType
  let dispatcher: Dispatcher
  let transaction: TransactionID
  let parent: TransactionID?
  let callSite: CallSite
  let result: DispatchResult
  private let makeDetails: () -> (own: DispatchDetails, around: DispatchDetails?)
  private lazy var details = makeDetails()

  /// - Parameter makeDetails: The details of the dispatch, and of the one in whose block, or in whose sequence, it was
  ///   made.
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

  /// Where what goes on after the end on its account is counted; made where there is none.
  var followUp: FollowUp { details.own.makeFollowUp(around: details.around) }

  /// When it would have timed out, or what is around it, by the dispatcher's clock.
  var deadline: Int64? {
    details.own.inheritedDeadline ?? details.around?.inheritedDeadline
  }
}
