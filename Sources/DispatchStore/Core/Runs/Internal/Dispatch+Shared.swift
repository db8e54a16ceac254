import Synchronization

// Called by other threads.
extension Dispatch {
  var hasEnded: Bool { withDetails { $0.hasEnded.load(ordering: .acquiring) } ?? false }

  var result: DispatchResult? { hasEnded ? details?.withState(\.result) : nil }

  /// The result of its stores once they have ended.
  var resultOfStores: DispatchResult? { details?.withState(\.resultOfStores) }

  var isCancelled: Bool { withDetails { $0.withState(\.isCancelled) } ?? false }

  /// Whether it was cancelled or has timed out, or the task that sent it is cancelled.
  var wasCancelled: Bool {
    withDetails { $0.withState { $0.isCancelled || $0.isTaskCancelled } } ?? false
  }

  /// Whether its deadline has ended it, and the completion has not returned.
  var isEndingEarly: Bool { withDetails { $0.withState(\.isEndingEarly) } ?? false }

  /// Whether commits of the inline run's current store are undelivered.
  var hasUndeliveredCommits: Bool { withDetails(\.hasUndeliveredCommits) ?? false }

  /// The error of a cancellation because of a deadlock or a passed deadline.
  var refusal: DispatchError? { details?.withState(\.refusal) }

  /// The dispatches that it waits for before it runs.
  var dispatchesBefore: [Dispatch] { details?.withState(\.before) ?? [] }

  /// The dispatches that it waits for, and whether a gate may hold it back after them.
  var obstacles: (before: [Dispatch], gateHoldsBack: Bool) {
    details?.withState { ($0.before, $0.gate?.holdsBack == true) } ?? ([], false)
  }

  /// Whether it waits for other dispatches.
  var isHeldBack: Bool { !dispatchesBefore.isEmpty }

  /// Whether this is a sequence without actions.
  var isEmpty: Bool { sequence?.isEmpty ?? false }

  /// Whether a `.sync` caller may return, because only deferred deliveries by notifiers are left.
  var onlyDeliveryIsLeft: Bool { details?.withState(\.work).round?.onlyDeliveryIsLeft ?? false }

  /// Whether only one store of a round is running.
  var isAlone: Bool { details?.withState(\.work).round?.isAlone ?? false }

  /// Whether its stores have ended.
  ///
  /// That may be after the dispatch has ended at its deadline.
  var isOver: Bool { details?.withState(\.isOver) ?? false }

  /// Whether it has not begun, and was not cancelled.
  var isWaiting: Bool { makeDetails().withState(\.isWaiting) }

  /// Calls a closure at a moment of the end, or at once if that has come.
  func at(_ moment: EndMoment, _ body: @escaping @Sendable () -> Void) {
    if !makeDetails().withState({ $0.keep(body, until: moment) }) { body() }
  }

  /// Calls back once the dispatch has ended, on the thread that ends it.
  ///
  /// If it has ended already, calls back at once.
  ///
  /// - Parameter waiting: The dispatch that waits; once that has ended, it need not be called back.
  func whenEnded(for waiting: Dispatch? = nil, _ waiter: @escaping @Sendable () -> Void) {
    if details != nil { yieldPoint(.await, id.description) }
    let details = makeDetails()
    if isPlanted(.forgottenWaiter) { return forgetWaiter(waiter) }
    if !details.wait(Waiter(for: waiting?.makeDetails(), waiter)) { waiter() }
  }
}
