/// Bugs that can be planted in the engine, to see whether exploration finds them.
///
/// Each is what a plausible mistake would do. Nothing of them is compiled into a program that has no
/// simulation in it.
package enum Mutant: String, CaseIterable, Sendable {
  /// A lane's drainer looks whether something was pushed, and then leaves, in two steps.
  case lostWakeUp
  /// A concurrent drainer that has left does not look once more.
  case lostStart
  /// A thread beside the queue that has left does not look once more.
  case lostSubstitute
  /// Somebody is asked to drain a lane before the step is there.
  case lostStep
  /// A drainer that is there already goes on although the queue was suspended.
  case ignoredSuspension
  /// What was pushed to a lane is taken in newest first.
  case laneOrder
  /// A lane goes on while its holder waits for something elsewhere.
  case earlyRelease
  /// A lane that has retired is drained once more, beside the new one of its name.
  case pushToRetired
  /// A thread that waits does not lend its place in the queue.
  case placeNotLent
  /// That an operation is ready is forgotten where the step that asked for it has not returned.
  case lostReady
  /// An operation ends while an update through it is under way.
  case endBeforeUpdate
  /// A thread goes by what it has noted of the registry before that changed.
  case staleNote
  /// An observer hears after it was cancelled, where a round had begun before.
  case heardAfterCancel
  /// A thread that tells and waits keeps those waiting who wait for its turn.
  case turnKept
  /// A wait is not refused because of what the context around it holds.
  case outerForgotten
  /// A store does not wait for the last one of those that it has to wait for.
  case droppedEdge
  /// A store that can't end at once lets the completion run early, and again at the end.
  case completionTwice
  /// Two threads may tell of one store at once.
  case notificationOrder
  /// A dispatch does not wait for its commit that was left to another thread to be told.
  case endBeforeTelling
  /// A thread that tells and waits is no longer taken to wait once another wait of its own has ended.
  case endedInnerWait
  /// Whoever begins to wait while the end is being told is forgotten.
  case forgottenWaiter
  /// A cancellation that comes before others go on with a dispatch is lost.
  case lostCancellation
  /// The place of a dispatch that was cancelled while it waited is not given up.
  case keptPlace
  /// A dispatch that waits for two others goes on after the first.
  case oneBeforeIsEnough
  /// A dispatch without a record stays without one where somebody is told of its commits.
  case noRecord
  /// An operation that has ended can be finished once more, and is heard of again.
  case doubleFinish
}
