/// The data that ends a dispatch at its deadline, while another thread still runs its stores.
final class EarlyEnd: @unchecked Sendable {
  // because the lock of the dispatch's details guards its mutable state
  /// The completion and task-local values, taken from the record when the end is claimed.
  var completion: Completion?
  private(set) var carried: CapturedTaskLocal?
  /// The dispatcher, retained until that completion has run.
  var dispatcher: Dispatcher?
  /// The generation, which ends only after that completion: a drain waits for it, and accepts dispatches made there.
  var generation: DispatchGeneration?
  var result: DispatchResult?
  /// The stores of an inline run: one, or none of them has started.
  private var identifiers: [String] = []
  private let hasStarted: Bool
  /// The progress of a sequence; nil for an action.
  private var progress: DispatchSequence.Progress?

  /// - Parameter hasStarted: Whether the store of an inline run has started.
  init(of dispatcher: Dispatcher?, hasStarted: Bool) {
    (self.dispatcher, self.hasStarted) = (dispatcher, hasStarted)
  }

  /// Takes the data for the end from the record, under the details' lock.
  ///
  /// The thread that runs the stores uses none of it before it has checked under the lock which end decides.
  func claim(_ dispatch: Dispatch) {
    completion = dispatch.completion.take()
    carried = dispatch.carried
    generation = dispatch.route?._withUnsafeGuaranteedRef(\.presentGeneration)
    identifiers = dispatch.route?._withUnsafeGuaranteedRef(\.identifiers) ?? []
    progress = dispatch.sequence?.progress
  }

  /// Returns the result of an inline run or a sequence.
  ///
  /// - Parameter stepHasBegun: Whether a handler of the sequence's running action has started.
  func result(
    of id: DispatchID, replies: [String: any Sendable], stepHasBegun: Bool, _ error: DispatchError?
  ) -> DispatchResult {
    if let (steps, actionCount) = progress {
      return DispatchResult(
        dispatchID: id, steps: steps, skippedActionCount: actionCount - steps.count,
        stepHasBegun: stepHasBegun, error: error)
    }
    return DispatchResult(
      dispatchID: id, identifiers: identifiers,
      outcomes: identifiers.map { _ in .cancelled(hasStarted: hasStarted) }, replies: replies,
      error: error)
  }
}
