import Testing

@testable import DispatchStore

/// Whose turn it is to tell, without threads.
struct NotificationQueueTests {
  private var core = NotificationQueue()
  private var version: UInt64 = 0
  private let observer = ObserverRecord(on: .inline) { _ in }

  private mutating func commit(mayWait: Bool = true, isToldOf: Bool = true) -> String {
    version += 1
    let change = present
    return isToldOf ? core.notice(of: change, owner: nil, mayWait: mayWait).word : "none"
  }

  /// The model counts the commits.
  private var present: TypedChange<Int, Ping> {
    TypedChange(
      StoreChange(model: Int(version), version: version, action: nil, transaction: nil))
  }

  private mutating func addObserver() {
    _ = core.add(observer, present: present, initial: false, mayWait: true)
  }

  @Test mutating func withoutObserversNobodyIsTold() {
    #expect(commit() == "none")
  }

  @Test mutating func whatIsNotToBeToldTakesNoTurn() {
    addObserver()
    #expect(commit(isToldOf: false) == "none")
    #expect(commit() == "tell 2")
  }

  @Test mutating func theFirstTellsAndTheSecondWaitsForTheTurn() {
    addObserver()
    #expect(commit() == "tell 1")
    #expect(commit() == "wait")
    #expect(core.next().word == "hand over")
    #expect(core.takeOver().change.version == 2)
    #expect(core.next().word == "done")
    #expect(commit() == "tell 3", "The turn is free again.")
  }

  @Test mutating func aTellerLeavesItsChangeNextInOrder() {
    addObserver()
    #expect(commit() == "tell 1")
    #expect(commit(mayWait: false) == "leave")
    #expect(commit() == "wait")
    #expect(commit(mayWait: false) == "leave")
    // In commit order: what was left, the thread that waits, and what was left behind it.
    #expect(core.next().word == "tell 2")
    #expect(core.next().word == "hand over")
    #expect(core.takeOver().change.version == 3)
    #expect(core.next().word == "tell 4")
    #expect(core.next().word == "done")
  }

  @Test mutating func threadsThatWaitLeaveWhenTheTellerBeginsToWait() {
    addObserver()
    #expect(commit() == "tell 1")
    #expect(commit() == "wait")
    #expect(commit() == "wait")
    #expect(core.tellerBeginsToWait().gates.count == 2)
    #expect(commit() == "leave", "Those who come meanwhile leave as well.")
    core.tellerHasWaited()
    #expect(commit() == "wait")
    #expect(core.next().word == "tell 2")
    #expect(core.next().word == "tell 3")
    #expect(core.next().word == "tell 4")
    #expect(core.next().word == "hand over")
  }

  @Test mutating func waitsOfTheTellerMayNest() {
    addObserver()
    #expect(commit() == "tell 1")
    _ = core.tellerBeginsToWait()
    // A completion that goes on there waits too.
    _ = core.tellerBeginsToWait()
    core.tellerHasWaited()
    #expect(commit() == "leave", "The teller still waits.")
    core.tellerHasWaited()
    #expect(commit() == "wait")
  }

  @Test mutating func anObserverHearsFromTheNextCommitOn() {
    _ = commit()
    addObserver()
    #expect(observer.firstVersion == 2)
  }

  @Test mutating func thePresentModelIsToldToTheOneThatAsksInItsTurn() {
    addObserver()
    #expect(commit() == "tell 1")
    let asking = ObserverRecord(on: .inline) { _ in }
    guard case .leave = core.add(asking, present: present, initial: true, mayWait: false) else {
      Issue.record("Told before its turn.")
      return
    }
    guard case .tell(let notice) = core.next() else {
      Issue.record("Not told.")
      return
    }
    #expect(notice.only === asking)
    #expect(notice.change.version == 1)
    #expect((notice.change as? TypedChange<Int, Ping>)?.change.model == 1)
    #expect(asking.firstVersion == 2)
  }
}

extension NotificationQueue.Turn {
  fileprivate var word: String {
    switch self {
    case .none: "none"
    case .tell(let notice): "tell \(notice.change.version)"
    case .wait: "wait"
    case .leave: "leave"
    }
  }
}

extension NotificationQueue.Next {
  fileprivate var word: String {
    switch self {
    case .tell(let notice): "tell \(notice.change.version)"
    case .handOver: "hand over"
    case .done: "done"
    }
  }
}
