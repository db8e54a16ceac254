/// What a thread is about to do, between two of which a simulation may let another thread go on.
///
/// Each is one change of something that threads share: of a state machine behind its lock, or of an
/// atomic word.
package enum Transition: String, Sendable {
  // Dispatching.
  case dispatch = "dispatch"
  case lookUp = "look up the stores"
  case register = "register"
  case unregister = "unregister"
  case push = "push"
  case schedule = "ask for a drainer"
  case cancel = "cancel"
  case await = "await"
  case enterWait = "enter a wait"
  case leaveWait = "leave a wait"

  // A lane.
  case takeNext = "take what is next"
  case leave = "leave"
  case pause = "let others have their turn"
  case park = "park"
  case post = "post a step"
  case resume = "resume"
  case release = "release"
  case findLane = "look for a lane"
  case retire = "take a lane out"

  // The concurrent queue.
  case pushStart = "push a start"
  case pushStep = "push a step"
  case popStep = "look for a step"
  case popStart = "look for a start"
  case beginDraining = "begin to drain"
  case beginLingering = "begin to linger"
  case linger = "linger"
  case endLingering = "end lingering"
  case leavePool = "leave the queue"
  case lookOnceMore = "look once more"
  case requeue = "requeue"
  case beginWait = "begin to wait"
  case endWait = "end the wait"

  // A dispatch and its parts.
  case takeUp = "take up"
  case involve = "hand over its state"
  case reach = "reach"
  case goOn = "go on in a round"
  case beginRound = "begin a round"
  case closeRound = "close a round"
  case start = "start"
  case started = "take over the operation"
  case startReturned = "have started"
  case operationEnded = "hear that the operation ended"
  case becameReady = "hear that the operation is ready"
  case commitDelivered = "hear that a commit was told"
  case close = "close"
  case complete = "complete"
  case tellEnd = "tell the end"
  case beforeEnded = "hear that one before it ended"

  // An operation.
  case finish = "finish"
  case update = "update"
  case endUpdate = "end the update"
  case cancelOperation = "cancel the operation"
  case watch = "watch what it depends on"

  // A store.
  case commit = "commit"
  case read = "read"
  case observe = "observe"
  case cancelObserver = "cancel an observer"
  case tell = "tell"
  case hear = "let an observer hear"
  case nextNotice = "look for the next notice"
  case takeTurn = "take the turn"

  // The caller's thread.
  case detach = "detach"
  case takeStep = "take a step"

  // What the simulation itself does.
  case begin = "begin"
  case wait = "wait"
  case end = "end"
}
