/// A thread's next action.
///
/// Before it, a simulation may let another thread run.
///
/// Each is one change of shared state: of a state machine behind its lock, or of an atomic word.
package enum Transition: String, Sendable {
  // Dispatches
  case dispatch = "dispatch"
  case lookUp = "look up the stores"
  case register = "register"
  case unregister = "unregister"
  case push = "push"
  case schedule = "request a drainer"
  case cancel = "cancel"
  case await = "await"
  case enterWait = "record a wait"
  case searchWaits = "search a lane for a cycle"
  case leaveWait = "remove a wait"

  // Lanes
  case takeNext = "take what is next"
  case leave = "leave the lane"
  case pause = "pause"
  case park = "park"
  case resume = "resume with a step"
  case unpark = "unpark"
  case release = "release the lane"
  case removeEnded = "remove those that have ended"
  case findLane = "find a lane"
  case retire = "retire a lane"

  // The concurrent queue
  case pushStart = "push a start"
  case pushStep = "push a step"
  case popStep = "pop a step"
  case popStart = "pop a start"
  case beginDraining = "begin to drain"
  case beginSpinning = "begin to spin"
  case spin = "spin"
  case endSpinning = "end spinning"
  case leavePool = "leave the queue"
  case recheck = "check the queue once more"
  case requeue = "requeue"
  case beginWait = "begin to wait"
  case endWait = "end the wait"

  // A dispatch and its store runs
  case takeUp = "begin to run"
  case endWork = "end the stores' work"
  case startDispatch = "start the dispatch"
  case continueInRound = "continue in a round"
  case beginRound = "begin a round"
  case closeRound = "close a round"
  case start = "start the operation"
  case started = "keep the operation"
  case startReturned = "the start returned"
  case operationEnded = "the operation ended"
  case becameReady = "the operation became ready"
  case commitDelivered = "a commit was delivered"
  case close = "close"
  case pauseBeforeAttempt = "pause before an attempt"
  case pausePassed = "the pause has passed"
  case awaitSaving = "wait until the commits are saved"
  case endSaving = "end the wait for saving"
  case takeWriter = "begin to write"
  case cutGroup = "cut a group of commits"
  case useDatabase = "use the database"
  case noteSaved = "note that a group is saved"
  case complete = "complete"
  case notifyWaiters = "notify the waiters"
  case beforeEnded = "a dispatch before it ended"
  case tryGate = "try its gate"
  case openGate = "its gate may open"

  // Operations
  case finish = "finish"
  case update = "update"
  case endUpdate = "end the update"
  case cancelOperation = "cancel the operation"
  case watch = "watch its dependencies"

  // Stores
  case commit = "commit"
  case read = "read"
  case observe = "observe"
  case cancelObserver = "cancel an observer"
  case notify = "notify the observers"
  case callObserver = "call an observer"
  case nextNotice = "take the next notice"
  case takeDeliveryTurn = "take the delivery turn"
  case parkStart = "park an action behind deliveries"

  // Streams
  case takeElement = "take an element of a stream"
  case awaitElement = "await an element of a stream"
  case wakeConsumer = "resume a stream's consumer"

  // Control
  case enterLimit = "enter a limit"
  case leaveLimit = "leave a limit"
  case setTimer = "set a timer"
  case fireTimers = "fire timers"
  case timeOut = "time out"
  case adopt = "join what its block is of"
  case enterExclusion = "enter an exclusion"
  case leaveExclusion = "leave an exclusion"
  case checkCondition = "check a condition"
  case beginDelayed = "begin after a delay"
  case comeAtRate = "come at a rate"
  case takeToken = "take a token of a rate limit"
  case askBreaker = "ask a circuit breaker"
  case changeSchedule = "change the schedule"
  case saveSchedule = "save the row of a schedule"
  case join = "join another dispatch"
  case removeKeys = "remove the rows of forgotten keys"
  case beginEffect = "begin a run of an effect"
  case saveEffect = "save the row of a durable effect"
  case endEffect = "end a run of an effect"
  case diagnose = "look at what is in flight"
  case restWatchdog = "let a watchdog rest"

  // Groups of dispatches
  case advanceGroup = "advance a group"

  // The caller's thread
  case detach = "detach"
  case takeStep = "take a step"

  // The program, once a call has returned: it may be at objects of its own before its next call
  case goOn = "go on after a call"

  // The simulation itself
  case begin = "begin"
  case lock = "come to a lock"
  case wait = "wait"
  case end = "end"
  case draw = "draw"
  case fault = "a fault at some time"
  case passTime = "the time has come to"
}
