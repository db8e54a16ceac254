import Testing

@testable import DispatchStore

/// Which thread notifies, without threads.
struct NotificationQueueTests {
  private var queue = NotificationQueue()
  private var version: UInt64 = 0
  private let observer = ModelObserver { _ in }

  private mutating func commit(
    mayWait: Bool = true, _ place: NotificationQueue.Place = .leaves
  ) -> String {
    version += 1
    return queue.enqueue(
      Delivery(change: present, only: nil, owner: nil), place: { _ in mayWait ? .waits : place }
    ).word
  }

  /// The model counts the commits.
  private var present: TypedChange<Int, Ping> {
    TypedChange(
      ObservedModel(Int(version), version: version, action: nil, dispatchID: nil))
  }

  private mutating func addObserver() {
    queue.add(observer, from: version + 1)
  }

  @Test mutating func withoutObserversThereIsNothingToDeliver() {
    #expect(commit() == "none")
  }

  @Test mutating func aCommitThatIsNotDeliveredTakesNoTurn() {
    let (storage, versions) = (StoreStorage(identifier: "s"), Recorder<UInt64>())
    let observer = ModelObserver { versions.record($0.version) }
    let thread = ThreadState.current
    storage.lockToRead(on: thread)
    _ = storage.unlockAdding(observer, nil, on: thread)
    storage.lockToNotify(on: thread)
    storage.unlockAndNotify(nil, KeptCommit(), for: nil, on: thread)
    version = 2
    storage.lockToNotify(on: thread)
    storage.unlockAndNotify(present, KeptCommit(), for: nil, on: thread)
    #expect(storage.version == 2)
    #expect(versions.all == [2])
  }

  @Test mutating func theFirstNotifiesAndTheSecondWaitsForTheTurn() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(commit() == "wait")
    #expect(queue.next().word == "hand over")
    #expect(queue.takeTurn().change.version == 2)
    #expect(queue.next().word == "done")
    #expect(commit() == "notify 3", "The turn is free again.")
  }

  @Test mutating func aThreadThatMayNotWaitLeavesItsChangeNextInOrder() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(commit(mayWait: false) == "leave")
    #expect(commit() == "wait")
    #expect(commit(mayWait: false) == "leave")
    // In commit order: what was left, the thread that waits, and what was left behind it.
    #expect(queue.next().word == "notify 2")
    #expect(queue.next().word == "hand over")
    #expect(queue.takeTurn().change.version == 3)
    #expect(queue.next().word == "notify 4")
    #expect(queue.next().word == "done")
  }

  @Test mutating func theOwnerOfTheChangeUnderDeliveryIsResumedOnceWhenTheNotifierBeginsToWait() {
    addObserver()
    let owners = [Dispatch(), Dispatch()]
    #expect(commit() == "notify 1")
    for owner in owners {
      version += 1
      _ = queue.enqueue(Delivery(change: present, only: nil, owner: owner), place: { _ in .leaves })
    }
    #expect(queue.next().word == "notify 2")
    #expect(
      queue.notifierBeginsToWait().owners.map(ObjectIdentifier.init)
        == owners.map(ObjectIdentifier.init))
    queue.notifierHasWaited()
    #expect(queue.takeDeliveredOwner() == nil)
    #expect(queue.next().word == "notify 3")
    #expect(queue.takeDeliveredOwner() == nil)
  }

  @Test mutating func threadsThatWaitLeaveWhenTheNotifierBeginsToWait() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(commit() == "wait")
    #expect(commit() == "wait")
    #expect(queue.notifierBeginsToWait().gates.count == 2)
    #expect(commit() == "leave", "Threads that commit meanwhile leave as well.")
    queue.notifierHasWaited()
    #expect(commit() == "wait")
    #expect(queue.next().word == "notify 2")
    #expect(queue.next().word == "notify 3")
    #expect(queue.next().word == "notify 4")
    #expect(queue.next().word == "hand over")
  }

  @Test mutating func actionsAreHeldBackUntilAllThatWasLeftIsDelivered() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(!queue.holdsBack, "The notifier delivers its own change.")
    #expect(commit(mayWait: false) == "leave")
    #expect(commit(mayWait: false) == "leave")
    let isParked = queue.park { true }
    #expect(isParked)
    for version in 2...3 {
      #expect(queue.next().word == "notify \(version)")
      #expect(queue.holdsBack)
      #expect(queue.takeStarts() == nil)
    }
    #expect(queue.next().word == "done")
    #expect(queue.takeStarts()?.count == 1)
    #expect(queue.takeStarts() == nil)
    let isParkedNow = queue.park { true }
    #expect(!isParkedNow)
  }

  @Test mutating func nothingIsHeldBackWhileTheNotifierWaits() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(commit(mayWait: false) == "leave")
    let isParked = queue.park { true }
    #expect(isParked)
    _ = queue.notifierBeginsToWait()
    #expect(queue.takeStarts()?.count == 1)
    #expect(commit(mayWait: false) == "leave")
    let isParkedNow = queue.park { true }
    #expect(!isParkedNow)
    queue.notifierHasWaited()
    #expect(queue.holdsBack, "What was left is delivered next.")
  }

  @Test mutating func aNotifierHandsTheRestOver() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(commit(mayWait: false) == "leave")
    #expect(queue.next(mayNotify: false).word == "requeue")
    #expect(commit() == "wait", "No thread has the turn, but a job comes.")
    #expect(queue.next().word == "notify 2")
    // A thread that waits needs no job.
    #expect(queue.next(mayNotify: false).word == "hand over")
  }

  @Test mutating func aNotifierDeliversAllThatItHasLeftItself() {
    addObserver()
    #expect(commit() == "notify 1")
    #expect(commit(mayWait: false, .isNotifier) == "leave")
    #expect(queue.next(mayNotify: false).word == "notify 2")
    #expect(queue.next(mayNotify: false).word == "done")
  }

  @Test mutating func afterItsWaitTheNotifierIsWaitedForAgain() {
    addObserver()
    #expect(commit() == "notify 1")
    _ = queue.notifierBeginsToWait()
    #expect(commit() == "leave", "The notifier waits.")
    queue.notifierHasWaited()
    #expect(commit() == "wait")
    #expect(queue.notifierBeginsToWait().gates.count == 1)
    queue.notifierHasWaited()
    #expect(queue.next().word == "notify 2")
    #expect(commit() == "wait")
    #expect(queue.notifierBeginsToWait().gates.count == 1)
  }

  @Test(.timeLimit(.minutes(1)))
  mutating func aWaitOfTheNotifierTakesAsLongHoweverManyChangesArePending() {
    addObserver()
    _ = commit()
    for _ in 1...50_000 { _ = commit(mayWait: false) }
    for _ in 1...50_000 {
      _ = queue.notifierBeginsToWait()
      queue.notifierHasWaited()
      _ = queue.next()
    }
    #expect(queue.next().word == "done")
  }

  @Test mutating func anObserverIsNotifiedFromTheNextCommitOn() {
    _ = commit()
    addObserver()
    #expect(queue.observers.slots.map { $0?.firstVersion } == [2])
  }

  @Test mutating func thePresentModelIsDeliveredInItsTurn() {
    addObserver()
    #expect(commit() == "notify 1")
    let initial = ModelObserver { _ in }
    queue.add(initial, from: 2)
    let first = Delivery(change: present, only: initial, owner: nil)
    guard case .leave = queue.enqueue(first, place: { _ in .leaves }) else {
      Issue.record("Delivered before its turn.")
      return
    }
    guard case .notify(let delivery, _) = queue.next() else {
      Issue.record("Not delivered.")
      return
    }
    #expect(delivery.only === initial)
    #expect(delivery.change.version == 1)
    #expect((delivery.change as? TypedChange<Int, Ping>)?.change.model == 1)
    #expect(queue.observers.slots.last??.firstVersion == 2)
  }
}

extension NotificationQueue.Turn {
  fileprivate var word: String {
    switch self {
    case .none: "none"
    case .notify(let delivery): "notify \(delivery.change.version)"
    case .wait: "wait"
    case .leave: "leave"
    }
  }
}

extension NotificationQueue.Next {
  fileprivate var word: String {
    switch self {
    case .notify(let delivery, _): "notify \(delivery.change.version)"
    case .handOver: "hand over"
    case .requeue: "requeue"
    case .done: "done"
    }
  }
}
