/// The action of a repeating schedule.
final class RepeatedAction: Sendable {
  let action: any ActionType
  let name: String
  let storeIdentifier: String?
  let mode: Dispatcher.Mode
  /// Whether an earlier process has left it, and this one has not declared it.
  let isResumed: Bool
  /// Set once its row is on its way, before which it does not run: each run's commit saves the time of the next one.
  let isArranged = Eventual<Void>()
  private let completion: (@Sendable (DispatchResult) -> Void)?
  let callSite: CallSite

  init(
    action: any ActionType, name: String, storeIdentifier: String?, mode: Dispatcher.Mode,
    isResumed: Bool = false, completion: (@Sendable (DispatchResult) -> Void)?,
    _ callSite: CallSite
  ) {
    (self.action, self.name, self.storeIdentifier) = (action, name, storeIdentifier)
    (self.mode, self.isResumed, self.completion) = (mode, isResumed, completion)
    self.callSite = callSite
  }

  /// Dispatches the action on the concurrent queue, since hooks are code of the program.
  func run(by dispatcher: Dispatcher, then ended: @escaping @Sendable () -> Void) {
    let begin = dispatcher.pool.goingOn { self.begin(by: dispatcher, then: ended) }
    isArranged.whenSet { dispatcher.pool.resume(begin) }
  }

  private func begin(by dispatcher: Dispatcher, then ended: @escaping @Sendable () -> Void) {
    let saved = dispatcher.savedSchedules?.run(of: self, by: dispatcher)
    let options = DispatchOptions().controlled {
      $0.isRepeated = true
      if let saved { $0.companions = [saved] }
    }
    let handle = dispatcher.dispatch(
      self.action, to: self.storeIdentifier, self.mode, options, nil, self.callSite)
    // A run that has timed out goes on until its stores have ended.
    if let dispatch = handle.dispatch { dispatch.at(.beforeResult, ended) } else { ended() }
    if let completion = self.completion { handle.whenEnded(completion) }
  }
}
