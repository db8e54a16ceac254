/// What a store's lock guards beside the model: who is to be told of which commit, and by whom.
///
/// Without the store's types: telling has nothing to look up.
///
/// Telling takes turns. `isTelling` says that some thread has the turn; commits made meanwhile wait in
/// `pending`, in commit order, each with the thread that waits to tell it, or left to the teller.
struct NotificationQueue {
  private(set) var observers: [ObserverRecord] = []
  private var pending = FIFO<PendingNotice>()
  private var isTelling = false
  /// How often the thread that has the turn waits for something inside the library: nobody may wait
  /// for it.
  ///
  /// What was left to it goes on where it begins to wait, and may wait there itself.
  private var tellerWaits = 0

  /// What a thread does about a notice that it has made.
  enum Turn {
    /// Nobody is to be told.
    case none
    /// The thread has the turn: tell this, then ask `next()`.
    case tell(Notice)
    /// Wait at the gate, and do as it says.
    case wait(Gate<GateWord>)
    /// The teller tells it, next in order.
    case leave
  }

  /// What a waiting thread is told to do.
  enum GateWord: Sendable {
    /// The turn is yours, and your notice is the first one pending.
    case tell
    /// The teller itself waits: leave your notice to it.
    case leave
  }

  var isObserved: Bool { !observers.isEmpty }

  /// Whose turn it is to tell of the commit that was just made.
  mutating func notice(
    of change: ObservedChange, owner: (any CommitOwner)?, mayWait: Bool
  ) -> Turn {
    guard isObserved else { return .none }
    return enqueue(Notice(change: change, only: nil, owner: owner), mayWait: mayWait)
  }

  /// Adds an observer, that hears from the next commit on; where asked, of the present model first.
  mutating func add(
    _ observer: ObserverRecord, present: ObservedChange, initial: Bool, mayWait: Bool
  ) -> Turn {
    observer.firstVersion = present.version + 1
    observers.append(observer)
    guard initial else { return .none }
    return enqueue(Notice(change: present, only: observer, owner: nil), mayWait: mayWait)
  }

  mutating func takeCancelledObservers() -> [ObserverRecord] {
    defer { observers.removeAll(where: \.isCancelled) }
    return observers.filter(\.isCancelled)
  }

  private mutating func enqueue(_ notice: Notice, mayWait: Bool) -> Turn {
    if !isTelling || isPlanted(.notificationOrder) {
      isTelling = true
      return .tell(notice)
    }
    if tellerWaits > 0 {
      // What the teller waits for may itself wait for this dispatch: telling does not hold it up.
      pending.append(PendingNotice(notice: notice.unowned, gate: nil))
      return .leave
    }
    if mayWait {
      let gate = Gate<GateWord>()
      pending.append(PendingNotice(notice: notice, gate: gate))
      return .wait(gate)
    }
    if isPlanted(.endBeforeDelivery) {
      pending.append(PendingNotice(notice: notice.unowned, gate: nil))
      return .leave
    }
    notice.owner?.commitLeft()
    pending.append(PendingNotice(notice: notice, gate: nil))
    return .leave
  }

  /// What the thread that has the turn does next.
  enum Next {
    /// Tell this, which was left.
    case tell(Notice)
    /// The turn goes to the thread at this gate.
    case handOver(Gate<GateWord>)
    /// Nothing is pending; the turn is free.
    case done
  }

  mutating func next() -> Next {
    guard let first = pending.first else {
      isTelling = false
      return .done
    }
    if let gate = first.gate { return .handOver(gate) }
    return .tell(pending.popFirst()!.notice)
  }

  /// The notice of the thread that has just been handed the turn.
  mutating func takeOver() -> Notice {
    pending.popFirst()!.notice
  }

  /// The teller begins to wait inside the library: nobody is held up by its turn any longer.
  ///
  /// Those who wait for it go on, and so do the dispatches whose commits were left to it.
  mutating func tellerBeginsToWait() -> (
    gates: [Gate<GateWord>], owners: [any CommitOwner]
  ) {
    tellerWaits += 1
    var (gates, owners): ([Gate<GateWord>], [any CommitOwner]) = ([], [])
    pending.updateAll { pending in
      if let gate = pending.gate {
        gates.append(gate)
      } else if let owner = pending.notice.owner {
        owners.append(owner)
      }
      pending = PendingNotice(notice: pending.notice.unowned, gate: nil)
    }
    return (gates, owners)
  }

  mutating func tellerHasWaited() {
    tellerWaits = isPlanted(.endedInnerWait) ? 0 : tellerWaits - 1
  }
}

/// Something that observers are to hear: a commit, or for one of them the model it began with.
struct Notice {
  let change: ObservedChange
  let only: ObserverRecord?
  /// The part that ends only after this was told.
  let owner: (any CommitOwner)?

  var unowned: Notice { Notice(change: change, only: only, owner: nil) }
}

private struct PendingNotice {
  let notice: Notice
  var gate: Gate<NotificationQueue.GateWord>?
}
