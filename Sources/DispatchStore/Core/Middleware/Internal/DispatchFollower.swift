/// A hook that is called when dispatches of some action types have ended: the seam for features that react to them.
///
/// A route knows its followers, so dispatches of other action types don't pay for them.
protocol DispatchFollower: AnyObject, Sendable {
  /// Whether it follows actions of a type.
  ///
  /// Called under the registry's lock, and must always give the same answer.
  func responds(to type: any ActionType.Type) -> Bool

  /// Whether it follows durably: a dispatch to be followed is atomic, and its commit has a row for what follows.
  var isDurable: Bool { get }

  /// Returns what saves that row, for a dispatch that is about to commit; nil if it does not follow durably.
  func companion(of id: DispatchID, _ action: any ActionType) -> DispatchCompanion?

  /// Called when a dispatch has ended and its completion has run, before threads and tasks that wait for it resume.
  ///
  /// Runs on that thread, in the dispatch's context, with no lock held.
  func dispatchEnded(_ ended: EndedDispatch)

  /// Whether it follows no action, and its one run need not end.
  var isLongLived: Bool { get }

  /// The runs that go on, in words, with the number of those that wait for their turn; nil if none goes on.
  var progress: String? { get }

  /// The runs that are to end and sleep on a virtual clock, in words; nil if there is none.
  var sleep: String? { get }

  /// Whether a test waits for a run that goes on.
  var isBusy: Bool { get }

  /// Called when the dispatcher closes: from now on it accepts only dispatches made by dispatches in flight.
  func dispatcherClosed()

  /// Called when a pause of the dispatcher has ended, in which it accepted nothing.
  func pauseEnded(of dispatcher: Dispatcher)
}

/// A dispatch of one action that has ended, as its followers receive it.
final class EndedDispatch {
  private let session: MiddlewareSession
  let result: DispatchResult
  /// The result of the stores; `result` differs if a deadline had ended the dispatch before them.
  let resultOfStores: DispatchResult
  private let makeDetails: () -> DispatchDetails
  private(set) lazy var details = makeDetails()

  /// - Parameter makeDetails: The details of the dispatch, or of the sequence of which it is an action, linked with the
  ///   one in whose block it was made.
  init(
    _ session: MiddlewareSession, _ result: DispatchResult, ofStores resultOfStores: DispatchResult,
    _ makeDetails: @escaping () -> DispatchDetails
  ) {
    (self.session, self.makeDetails) = (session, makeDetails)
    (self.result, self.resultOfStores) = (result, resultOfStores)
  }

  var action: any ActionType { session.action }
  var dispatcher: Dispatcher { session.dispatcher }
  var dispatchID: DispatchID { session.id }
  var parent: DispatchID? { session.parent }
  var callSite: CallSite { session.callSite }
}
