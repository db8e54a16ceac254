/// Bugs that can be planted in the engine, to see whether exploration finds them.
///
/// Each is what a plausible mistake would do. The engine has a condition for each, which is false unless a
/// simulation plants it; longer bodies are in `PlantedBugs.swift`. Nothing of them is compiled into a program
/// without the trait `Simulation`.
package enum Mutant: String, CaseIterable, Sendable {
  /// A lane's drainer looks for a push, and then leaves, in two steps.
  case lostWakeUp
  /// A drainer of the pool does not check once more after it has left.
  case lostStart
  /// A step of a group whose turn has come begins, although the group was cancelled since.
  case lateGroupCancel
  /// A queue that was widened begins no drainers for what is there.
  case lostWidening
  /// A thread requests a lane's drainer before its step is there.
  case lostStep
  /// A drainer that is there already takes starts although the queue was suspended.
  case ignoredSuspension
  /// A drainer takes in newest first what was pushed to its lane.
  case laneOrder
  /// A lane starts the next dispatch while its holder waits for something elsewhere.
  case earlyRelease
  /// A task takes a lane that another one has.
  case takenTwice
  /// A task that releases its lane does not look for what was pushed meanwhile.
  case lostAtRelease
  /// A lane that has retired is drained once more, beside the new one of its name.
  case pushToRetired
  /// A thread that waits does not lend its place in the queue.
  case placeNotLent
  /// A pool adds no drainer for starts that are left while the queue is suspended.
  case lostWhileSuspended
  /// A round forgets that an operation is ready where the step that started its watch has not returned.
  case lostReady
  /// An operation ends while an update through it is under way.
  case endBeforeUpdate
  /// A thread uses a route of its cache although the registry has changed.
  case staleRoute
  /// An observer is called after it was cancelled, where the delivery had begun before.
  case calledAfterCancel
  /// A notifier that waits keeps its delivery turn from the threads that wait for it.
  case turnKept
  /// A wait is not refused because of what the context around it holds.
  case outerForgotten
  /// A completion counts as inside what its dispatch was made in, not as inside what its thread runs.
  case formerCaller
  /// A hook counts as outside of the code that dispatches.
  case hookOutside
  /// A wait is not refused because of what an operation depends on.
  case dependencyForgotten
  /// An operation that is about to wait does not see that another one has begun to wait for it.
  case unseenDependent
  /// A store does not wait for the last one of its prerequisites.
  case droppedEdge
  /// The completion runs early where a store can't end at once, and again at the end.
  case completionTwice
  /// A stream takes the present model, and subscribes, in two steps.
  case lostBeforeSubscription
  /// A stream's consumer looks for an element, and then suspends, in two steps.
  case lostElement
  /// A producer waits for a stream's consumer although that waits inside the library, perhaps for it.
  case heldByWaitingConsumer
  /// Two threads may notify one store's observers at once.
  case notificationOrder
  /// A dispatch does not wait for the delivery of a commit that was left to the notifier.
  case endBeforeDelivery
  /// An action is held back although all that was left has been delivered since the thread looked.
  case heldBackTooLate
  /// Actions stay held back while the notifier waits, perhaps for one of them.
  case heldBackByWait
  /// A waiter that comes while the dispatch notifies its waiters is forgotten.
  case forgottenWaiter
  /// A cancellation is lost that comes before another thread continues the dispatch.
  case lostCancellation
  /// A lane that is drained on behalf of a task's dispatch does not retain its dispatcher.
  case releasedDispatcher
  /// The place of a dispatch that was cancelled while it waited is not given up.
  case keptPlace
  /// A dispatch that waits for two others starts after the first.
  case oneBeforeIsEnough
  /// A dispatch without a record stays without one where an observer is called for its commits.
  case noRecord
  /// A drain that begins while another one waits does not wait for what that one waits for.
  case earlyDrain
  /// A unit of a limit is lost that was handed over.
  case lostUnit
  /// An operation that has ended can be finished once more, and its end is reported again.
  case doubleFinish
  /// A store that runs regardless does not run where its dispatch is cancelled meanwhile.
  case lostAudit
  /// A dispatch that is cancelled while the end of an exclusive section accepts it runs all the same.
  case lostAtAcceptance
  /// A thread copies a route that may have left the registry since the thread looked it up.
  case lateCopy
  /// A store that comes or goes removes but one of the routes of its identifier.
  case keptRoute
  /// A lane that has retired gets another name although another thread is about to push to it.
  case reusedLane
  /// A lane that retires takes those with it whose keys have the same hash.
  case lostNamesakes
  /// Lanes whose keys have equal hashes are one.
  case equalHashes
  /// A thread makes a lane that another thread has made since it looked.
  case doubleLane
  /// What a store replied is given out although it has failed.
  case failedReply
  /// A reply goes to the dispatch around the one that gets it.
  case outerReply
  /// An operation that was finished is finished once more, with another reply.
  case replyAfterEnd
  /// What a store replied is left in a record that is used again.
  case keptReplies
  /// The end of a group's step is lost where another thread has not yet kept the step's handle.
  case lostStepEnd
  /// A group's step is not cancelled where the cancellation comes while a thread dispatches it.
  case lostGroupCancel
  /// Compensations run in the order in which their steps finished.
  case compensatedInOrder
  /// Where a user's queue was narrowed, no drainer waits for it to be widened.
  case lostAfterNarrowing
  /// A task that has started others for a while leaves the lane's rest to a drainer that may not be there.
  case lostBatch
  /// A task that frees its lane runs the next action there itself, beneath which it is.
  case drainOnForeignStack
  /// A dispatch ends without a look at a deadline that comes at the end of its stores.
  case lostDeadline
  /// A dispatch ends without a look at the clock, as if a timer always came in time.
  case unreadClock
  /// An alarm that finds timers due does not set the next one.
  case lostAlarm
  /// A gate that may have opened while a thread tries it is not tried again.
  case lostGateOpening
  /// A condition is checked, and then waited for, in two steps.
  case lostCondition
  /// A dispatch that waits for others goes before what came to its lane before it, where it has a higher priority.
  case placeNotKept
  /// A lane in which dispatches have priorities takes in what was pushed only once nothing waits there.
  case latePriorities
  /// Of several exclusion keys, a dispatch that need not wait for them takes but the first.
  case firstKeyOnly
  /// A dispatch waits for keys behind one that waits for it.
  case neverOvertaking
  /// What a block dispatches is not linked with the dispatch of that block.
  case lostChild
  /// The pause before a store's next attempt goes on although the dispatch is cancelled.
  case lostPauseEnd
  /// A pause begins although its dispatch was cancelled since the attempt before it has failed.
  case pauseAfterCancel
  /// A delayed dispatch begins although a newer one of its key has taken its place.
  case keptDelayed
  /// A dispatch that comes at the end of an interval takes the place of the one that is due.
  case lostTrailing
  /// A dispatch looks for another one of its key, and then is the first one, in two steps.
  case joinedTooLate
  /// A ring is not searched for that closes where a dispatch is scheduled for which others wait already.
  case lateRing
  /// A dispatch that is over, and to which no handle refers, does not hand on what it has led to.
  case lostFollowUp
  /// A run of an effect looks for another one, and then begins, in two steps.
  case overlappingEffects
  /// A watchdog that finds nothing in flight rests, and does not look once more.
  case lostWatch
}
