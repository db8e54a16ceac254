/// The events of a run of a program, in one order that agrees with what each thread did.
struct FuzzEvent: Sendable {
  enum Kind: Hashable, Sendable {
    /// Events of dispatches.
    case called, returned, completed, awaited, cancelled
    /// Events of actions and stores, seen by middleware.
    case will(Int), did(Int)
    /// Events of actions and stores.
    case began, ended, threw
    /// Events of stores, with the number of the commit; `subject` is the action that it is for, if any.
    case committed
    /// Events after which nothing of something is to begin, or to happen: of a dispatch, a list of statements, a group, and
    /// dispatchers.
    case cancelReturned, taskCancelled, groupCancelled, closed, shutDown, drained
    /// A dispatch had not ended when its dispatcher was drained.
    case unended
    /// Events of groups, and of the effects of actions.
    case groupEnded, effect
    /// Events of observers, with the number of the commit.
    case observed(Int)
  }

  let kind: Kind
  /// The dispatch or action.
  var subject = -1
  var store = -1
  var version = 0
}

/// The events of a run, and what its code found wrong meanwhile.
final class FuzzLog: Sendable {
  private let events = Shared<[FuzzEvent]>([])
  private let faults = Shared<[String]>([])

  func note(_ kind: FuzzEvent.Kind, _ subject: Int = -1, store: Int = -1, version: Int = 0) {
    let event = FuzzEvent(kind: kind, subject: subject, store: store, version: version)
    events.append(event)
  }

  func fail(_ fault: String) {
    faults.note(fault)
  }

  var allEvents: [FuzzEvent] { events.now }
  var allFaults: [String] { faults.now }
}
