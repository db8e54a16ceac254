/// Bugs that can be planted in the engine, to see whether exploration finds them.
///
/// Each is what a plausible mistake would do. Nothing of them is compiled into a program that has no
/// simulation in it.
package enum Mutant: String, CaseIterable, Sendable {
  /// A lane's drainer looks whether something was pushed, and then leaves, in two steps.
  case lostWakeUp
  /// A concurrent drainer that has left does not look once more.
  case lostStart
  /// A step for a lane that is held asks nobody to drain it.
  case lostStep
  /// A lane calls a second drainer while one is there.
  case secondDrainer
  /// What was pushed to a lane is taken in newest first.
  case laneOrder
  /// A lane lets go of its holder when the first of its stores has ended.
  case earlyRelease
  /// The end of an operation runs the completion once for each time that it is heard.
  case completionTwice
  /// A store that waits for another one is started at once.
  case droppedEdge
  /// A thread tells its commit although another one has the turn.
  case notificationOrder
  /// A commit that was left to the teller is not waited for.
  case endBeforeTelling
  /// A waiter that comes between the end and its telling is forgotten.
  case forgottenWaiter
  /// A cancellation that comes before the round begins is lost.
  case lostCancellation
  /// A dispatch that waits for two others goes on after the first.
  case oneBeforeIsEnough
  /// A retired lane takes one more dispatch.
  case pushToRetired
  /// A thread that waits does not lend its place in the queue.
  case placeNotLent
}
