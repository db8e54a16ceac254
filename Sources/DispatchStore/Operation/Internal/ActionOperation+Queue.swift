import Foundation

/// An operation that is both in a queue and a dispatch's would end for one while the other one runs it.
///
/// Foundation for Linux does not check that, and corrupts its lists of operations. It reads `isReady` of an
/// operation that is added to a queue, at once and on the thread that adds it.
extension ActionOperation {
  /// Called where `isReady` is read.
  func checkReadinessRead() {
    let isClaimed = withState { state in
      state.wasReadinessRead = true
      state.isTouched = true
      return state.life.isClaimed
    }
    guard isClaimed, queueState == .isAdded else { return }
    stopProgram(
      """
      The operation for \(action) in store "\(store.identifier)" was returned by a reducer, and is added to \
      a queue: a dispatcher or a queue runs an operation, not both. Make another operation for the queue, \
      or dispatch the action.
      """)
  }

  /// Called by `start()`.
  func checkStart() {
    guard withState(\.wasReadinessRead), queueState == .waits else { return }
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

  /// What it is to a queue, as far as Foundation has it.
  private var queueState: QueueState? {
    #if canImport(ObjectiveC)
      nil
    #else
      // No public property says it. Without the private one there is no check; tests show that it is there.
      var mirror = Mirror(reflecting: self).superclassMirror
      while let present = mirror, present.subjectType != Operation.self {
        mirror = present.superclassMirror
      }
      guard let state = mirror?.descendant("__state") else { return nil }
      return switch String(describing: state) {
      case "enqueuing": .isAdded
      case "enqueued": .waits
      case "dispatching": .isStarted
      default: nil
      }
    #endif
  }
}

private enum QueueState {
  /// It is being added.
  case isAdded
  /// The queue has not come to it.
  case waits
  /// The queue has a place for it.
  case isStarted
}
