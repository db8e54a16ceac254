import Foundation

/// Checks that no operation is both in a queue and run by a dispatch. It would end for one while the other still runs
/// it.
///
/// Foundation for Linux does not check that, and corrupts its lists of operations. It reads `isReady` of an operation
/// that is added to a queue, at once and on the adding thread.
extension ActionOperation {
  /// Called when `isReady` is read.
  func checkReadinessRead() {
    let isClaimed = withState { state in
      state.wasReadinessRead = true
      state.isTouched = true
      return state.life.isClaimed
    }
    guard isClaimed, queueState == .enqueuing else { return }
    stopProgram(
      """
      The operation for \(action) in store "\(store.identifier)" was returned by a reducer, and is added to \
      a queue: a dispatcher or a queue runs an operation, not both. Make another operation for the queue, \
      or dispatch the action.
      """)
  }

  /// Called by `start()`.
  func checkStart() {
    guard withState(\.wasReadinessRead), queueState == .enqueued else { return }
    stopProgram(
      """
      The operation for \(action) in store "\(store.identifier)" is in a queue, which starts it: don't call \
      start().
      """)
  }

  /// Whether it is in a queue, for a dispatch that is about to claim it.
  var isInQueue: Bool {
    withState(\.wasReadinessRead) && queueState != nil
  }

  /// The state of the operation in its queue, as far as Foundation exposes it.
  private var queueState: FoundationState.Phase? {
    #if canImport(ObjectiveC)
      nil
    #else
      FoundationState.found?.phase(of: self)
    #endif
  }
}
