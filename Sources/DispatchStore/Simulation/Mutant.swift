/// Bugs that can be planted in the engine, to test if exploration finds them.
///
/// Each one is the effect of a plausible mistake. The engine has a condition for each, which is false unless a
/// simulation plants the bug. Longer bodies are in `PlantedBugs.swift`. Without the trait `Simulation`, none of them
/// is compiled.
package enum Mutant: String, CaseIterable, Sendable {
  /// A lane's drainer looks for a push and leaves in two steps, not atomically.
  case lostWakeUp
  /// A drainer of the pool does not recheck the inbox after it has left.
  case lostStart
  /// A step of a group begins although the group was cancelled before the step's turn came.
  case lateGroupCancel
  /// A queue that was widened adds no drainers for the waiting work.
  case lostWidening
  /// A thread requests a lane's drainer before it has enqueued its step.
  case lostStep
  /// A running drainer takes starts although the queue was suspended.
  case ignoredSuspension
  /// A drainer dequeues a lane's pushes newest first.
  case laneOrder
  /// A lane starts the next dispatch while its holder waits for something elsewhere.
  case earlyRelease
  /// A task acquires a lane that another task has.
  case takenTwice
  /// A task that releases its lane misses the dispatches pushed meanwhile.
  case lostAtRelease
  /// A retired lane is drained once more, beside the new lane of its name.
  case pushToRetired
  /// A thread that waits does not lend its place in the queue.
  case placeNotLent
  /// A pool adds no drainer for starts that are left while the queue is suspended.
  case lostWhileSuspended
  /// A round forgets that an operation is ready if the step that started its watch has not returned.
  case lostReady
  /// An operation ends while an update through it is in progress.
  case endBeforeUpdate
  /// A thread uses a cached route although the registry has changed.
  case staleRoute
  /// An observer is called after it was cancelled, if the delivery had begun before.
  case calledAfterCancel
  /// A notifier that waits keeps its delivery turn from the threads that wait for the turn.
  case turnKept
  /// A wait is not refused although the context around it holds the awaited resource.
  case outerForgotten
  /// A completion counts as inside the context that made its dispatch, not inside the code that its thread runs.
  case formerCaller
  /// A hook counts as outside of the code that dispatches.
  case hookOutside
  /// A wait is not refused although an operation's dependencies close a cycle.
  case dependencyForgotten
  /// An operation that is about to wait does not see that another one has begun to wait for it.
  case unseenDependent
  /// A store does not wait for the last one of its prerequisites.
  case droppedEdge
  /// The completion runs early if a store can't end at once, and again at the end.
  case completionTwice
  /// A stream takes the current model and subscribes in two steps, not atomically.
  case lostBeforeSubscription
  /// A stream's consumer looks for an element and suspends in two steps, not atomically.
  case lostElement
  /// A stream's consumer suspends without a look at the waits that have begun since it asked for an element.
  case lostCatchUp
  /// A dispatch ends before its commits are saved.
  case endBeforeSaved
  /// A dispatch that has committed nothing ends, although it may have read what is not saved.
  case readNotSaved
  /// A read of a saved element does not know of the element's last change.
  case changeMissed
  /// Dispatches that have left one lane end in any order.
  case endsOutOfOrder
  /// A commit that has failed is taken for undone without a look.
  case commitNotLookedUp
  /// A writer that leaves misses what was committed meanwhile.
  case lostGroup
  /// The place of a dispatch is free, and its units of limits, before its commits are saved.
  case unitBeforeSaved
  /// The commits of an atomic action are kept one by one, and a group may end between two.
  case atomicInTwoGroups
  /// The owner's row is not compared in each transaction.
  case ownerNotCompared
  /// A persistent store can be registered while another one of its identifier is being loaded.
  case registeredTwice
  /// A dispatch is acknowledged although its store was replaced, so that its commit is not saved.
  case lossAcknowledged
  /// The owner of a PostgreSQL partition is compared by the number of its last group alone, not by its epoch.
  case epochNotCompared
  /// The number of the last group is read without the row's lock after a lost reply.
  case numberReadUnlocked
  /// A group whose reply was lost is sent again although its number is there: it was committed.
  case groupSentAgain
  /// A persistent store is registered before its state is loaded.
  case servedBeforeLoaded
  /// A persistence that closes gives its database up before everything is saved.
  case releasedBeforeDrained
  /// A process that waits for a partition takes over once the lease that it read has run out, without another look.
  case leaseCountedFromReply
  /// A producer waits for a stream's consumer, although the consumer waits inside the library, perhaps for the
  /// producer.
  case heldByWaitingConsumer
  /// Two threads may notify one store's observers at once.
  case notificationOrder
  /// A dispatch does not wait for the delivery of a commit that was left to the notifier.
  case endBeforeDelivery
  /// An action is held back although all deliveries have been made since the thread looked.
  case heldBackTooLate
  /// Actions stay held back while the notifier waits, perhaps for one of them.
  case heldBackByWait
  /// A waiter that comes while the dispatch notifies its waiters is forgotten.
  case forgottenWaiter
  /// A cancellation is lost if it comes before another thread continues the dispatch.
  case lostCancellation
  /// A lane that is drained on behalf of a task's dispatch does not retain its dispatcher.
  case releasedDispatcher
  /// The place of a dispatch that was cancelled while it waited is not given up.
  case keptPlace
  /// A dispatch that waits for two others starts after the first one.
  case oneBeforeIsEnough
  /// A dispatch without a record gets none although an observer is called for its commits.
  case noRecord
  /// A drain that begins while another one waits does not wait for the same dispatches.
  case earlyDrain
  /// A unit of a limit, or a turn of an effect, is lost in a hand-off.
  case lostUnit
  /// An ended operation can be finished once more, and its end is reported again.
  case doubleFinish
  /// A store that must always run does not run if its dispatch is cancelled meanwhile.
  case lostAudit
  /// A dispatch runs although it was cancelled while the end of an exclusive section accepted it.
  case lostAtAcceptance
  /// A thread copies a route that may have left the registry since the thread looked it up.
  case lateCopy
  /// A thread evicts the routes that a change has removed from the registry after it has unlocked that.
  case lateEviction
  /// Registering or removing a store invalidates only one of the routes of its identifier.
  case keptRoute
  /// A retired lane gets another name although another thread is about to push to it.
  case reusedLane
  /// A lane that retires also removes the lanes whose keys have the same hash.
  case lostNamesakes
  /// Lanes whose keys have equal hashes are one lane.
  case equalHashes
  /// A thread makes a lane that another thread has made since the first one looked.
  case doubleLane
  /// A store's reply is returned although the store has failed.
  case failedReply
  /// A reply goes to the dispatch around the one that it belongs to.
  case outerReply
  /// A finished operation is finished once more, with another reply.
  case replyAfterEnd
  /// The end of a group's step is lost if another thread has not yet stored the step's handle.
  case lostStepEnd
  /// A group's step is not cancelled if the cancellation comes while a thread dispatches it.
  case lostGroupCancel
  /// Compensations run in the order in which their steps finished, not in reverse.
  case compensatedInOrder
  /// After a user's queue was narrowed, no drainer waits for it to be widened.
  case lostAfterNarrowing
  /// A task that has started others for a while leaves the lane's rest to a drainer that may not exist.
  case lostBatch
  /// A task that frees its lane runs the lane's next action on top of its own stack.
  case drainOnForeignStack
  /// A dispatch ends without a check of a deadline that comes at the end of its stores.
  case lostDeadline
  /// A dispatch ends without a look at the clock, as if a timer always came in time.
  case unreadClock
  /// An alarm that finds timers due does not set the next one.
  case lostAlarm
  /// A gate that may have opened while a thread tries it is not tried again.
  case lostGateOpening
  /// A condition is checked and then awaited in two steps, not atomically.
  case lostCondition
  /// A dispatch that waits for others overtakes dispatches that came to its lane earlier, if it has a higher
  /// priority.
  case placeNotKept
  /// A lane with priorities dequeues its pushes only once nothing waits there.
  case latePriorities
  /// A dispatch with several exclusion keys acquires only the first, if none of them is taken.
  case firstKeyOnly
  /// A dispatch waits for keys behind one that waits for it.
  case neverOvertaking
  /// A dispatch made in a block is not linked with the dispatch of that block.
  case lostChild
  /// The back-off before a store's next attempt continues although the dispatch is cancelled.
  case lostPauseEnd
  /// A back-off begins although its dispatch was cancelled after the attempt before it had failed.
  case pauseAfterCancel
  /// A delayed dispatch begins although a newer one with its key has replaced it.
  case keptDelayed
  /// A dispatch that comes at the end of an interval replaces the one that is due.
  case lostTrailing
  /// A dispatch looks for another one of its key and becomes the first one in two steps, not atomically.
  case joinedTooLate
  /// The row of a forgotten key is removed although the next dispatch with the key has saved another one.
  case nextRowRemoved
  /// An idempotency key is saved after the commit of its dispatch, when that is acknowledged.
  case keyAtAcknowledgement
  /// A repeat gets a recorded result that is not saved yet.
  case unsavedAnswer
  /// The end of the time for closing is not heeded while only an errand is under way.
  case deafToClosing
  /// Work that was removed just before its run began is attempted all the same.
  case removedWorkRuns
  /// Work is removed although the action that says that it is done is under way.
  case removedAtEnd
  /// The time limit of an attempt outlasts it, and cancels the next one.
  case nextAttemptEnds
  /// The row of a durable effect's failure is saved although its dead letter was removed meanwhile.
  case letterReturns
  /// An attempt of work that a process has left begins before its count is saved.
  case countedLate
  /// Failed work that a closed dispatcher leaves in memory is no dead letter.
  case leftUnseen
  /// A durable effect begins before the commit is saved that it follows.
  case effectBeforeSaved
  /// The row of a durable effect's work is removed before the action commits that says that the work is done.
  case effectRemovedFirst
  /// The work of a durable effect gets another key after a restart.
  case changedKey
  /// The row of a scheduled action is removed before its action commits.
  case scheduleRemovedFirst
  /// The time of a repeating schedule's next run is saved after the commit of its run.
  case dueAfterCommit
  /// No search finds the cycle that closes when a dispatch is scheduled for which others already wait.
  case lateRing
  /// A dispatch that is over, and to which no handle refers, does not hand on what it has led to.
  case lostFollowUp
  /// A run of an effect looks for another run and then begins in two steps, not atomically.
  case overlappingEffects
  /// A dispatch enters several lanes one after the other, not in one step.
  case enteredOneByOne
  /// A dispatch in several lanes starts once it is first in one of them.
  case firstInOneLane
  /// A search for a cycle takes a dispatch that has left the inbox for the last one there.
  case behindAllOnceGone
  /// The undo of an atomic action forgets an element that was changed.
  case undoForgetsElement
  /// An atomic action leaves a store's section before its last reduction.
  case sectionLeftEarly
  /// An atomic action locks its stores in their own order, not in the global one.
  case locksInStoreOrder
  /// An atomic action that is undone counts as a commit.
  case undoneVersion
  /// The row of a scheduled dispatch that is cancelled goes once it has ended, after the call that cancels it.
  case cancelledKeepsRow
  /// A scheduled dispatch is saved although a later one of its name has been.
  case olderRowWins
  /// A scheduled dispatch that is cancelled before its row is saved ends at once.
  case cancelledUnarranged
  /// A scheduled dispatch begins although another one has taken its name.
  case replacedBegins
  /// The next time of a repeating schedule is counted from its late run.
  case driftingSchedule
  /// The timer of the schedules does not move to an earlier time.
  case lateSchedule
  /// A repeating schedule begins a run although the former one has not ended.
  case overlappingTicks
  /// The token of a dispatch that ends before it begins does not go to the next one.
  case lostToken
  /// A trial of a circuit breaker that is cancelled while the breaker is asked keeps its place.
  case lostTrial
  /// A watchdog that finds nothing in flight rests without a recheck.
  case lostWatch
  /// An undo takes its step when it is asked for, not when it runs.
  case stepTakenEarly
  /// A change after an undo does not end what can be done again.
  case keptFuture
  /// A later commit of a dispatch joins its step although another step has changed the store meanwhile.
  case joinedOutOfOrder
  /// Two threads begin to read a store at the same time.
  case readTwice
  /// Time travel does not wait for the dispatches under way.
  case travelledBeforeEnd
}
