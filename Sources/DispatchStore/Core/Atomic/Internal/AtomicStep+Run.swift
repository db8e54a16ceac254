extension AtomicStep {
  /// Takes an atomic action through its stores: all of them change, or none.
  ///
  /// Observers are notified before this returns.
  static func run(_ context: AtomicContext) -> AtomicOutcome {
    let route = context.route
    if !route.onlyReduces || context.hasReplies {
      let obstacles = (0..<route.count).compactMap { index in
        context.obstacle(at: index).map { (index, $0) }
      }
      if !obstacles.isEmpty { return AtomicOutcome(failedBy: obstacles, along: route) }
    }
    // Weakly owned stores, which a route does not keep alive.
    var kept: [AnyObject] = []
    defer { withExtendedLifetime(kept) {} }
    return withUnsafeTemporaryAllocation(of: Member.self, capacity: route.count) { members in
      for index in members.indices {
        guard let member = member(at: index, of: route, &kept) else {
          return AtomicOutcome(failedBy: [(index, .cancelled(hasStarted: false))], along: route)
        }
        members.initializeElement(at: index, to: member)
      }
      return withUnsafeTemporaryAllocation(of: Storage.self, capacity: members.count) { locks in
        var locks = locks
        for index in members.indices {
          locks.initializeElement(at: index, to: members[index].storage)
        }
        if !isPlanted(.locksInStoreOrder) {
          locks.sort {
            $0._withUnsafeGuaranteedRef(\.lockRank) < $1._withUnsafeGuaranteedRef(\.lockRank)
          }
        }
        return run(context, members, locks)
      }
    }
  }

  private typealias Storage = Unmanaged<StoreStorage>
  private typealias Members = UnsafeMutableBufferPointer<Member>
  /// The stores in the global order in which several stores are locked.
  private typealias Locks = UnsafeMutableBufferPointer<Storage>

  private static func member(at index: Int, of route: Route, _ kept: inout [AnyObject]) -> Member? {
    if let calls = route.calls(at: index) { return Member(calls) }
    guard let (calls, store) = route.withEntry(at: index, { $0.target }) else { return nil }
    kept += [calls, store]
    return Member(.passUnretained(calls))
  }

  private static func run(
    _ context: AtomicContext, _ members: Members, _ locks: Locks
  ) -> AtomicOutcome {
    let thread = context.thread
    let companions = context.companions
    let notices = lock(locks, context)
    if let refusal = refusal(members) {
      unlock(locks)
      return AtomicOutcome(failedBy: [refusal], along: context.route)
    }
    var replies: [String: any Sendable]? = companions.isEmpty ? nil : [:]
    if let failure = reduce(context, members, &replies) {
      let undone = undo(members[...failure.index], on: thread)
      unlock(locks)
      thread.endUndoneSection()
      withExtendedLifetime(undone) {}
      return AtomicOutcome(failedBy: [failure], along: context.route, wasBegun: true)
    }
    var deliveries = commit(context, members, notices)
    let keeper = keep(members) {
      companions.flatMap { $0.rows(with: replies ?? [:], from: context.route.identifiers) }
    }
    for index in deliveries.indices { deliveries[index].publish() }
    unlock(locks)
    // Before observers, which may wait until the commit is saved.
    keeper?.kept()
    notify(deliveries, context)
    return AtomicOutcome()
  }

  /// Ends the sections, which have been left, and notifies observers.
  private static func notify(_ deliveries: [AtomicDelivery], _ context: AtomicContext) {
    let thread = context.thread
    if deliveries.isEmpty { return thread.endSection() }
    var deliveries = deliveries
    // Before the section's end, so that commits of the hooks that it calls are left to this thread.
    takeTurns(&deliveries, on: thread)
    thread.endSection()
    for delivery in deliveries {
      context.enter(delivery.index)
      delivery.carryOut(on: thread)
    }
    for delivery in deliveries { delivery.waitForObservers(on: thread) }
  }

  /// Notes the thread as the notifier of the stores whose turn it has, and waits for the other turns.
  ///
  /// No code of the program runs before that: it would wait for ever for a commit behind one whose turn this thread
  /// has yet to take.
  private static func takeTurns(_ deliveries: inout [AtomicDelivery], on thread: ThreadState) {
    for delivery in deliveries.reversed() { delivery.noteTurn(on: thread) }
    guard deliveries.contains(where: \.awaitsTurn) else { return }
    for index in deliveries.indices { deliveries[index].scheduleBeforeTurn() }
    for index in deliveries.indices { deliveries[index].takeTurn(on: thread) }
    // In the order in which they end; a thread that waits for a turn has had none before.
    thread.turns.removeAll()
    for delivery in deliveries.reversed() { delivery.noteTurn(on: thread) }
  }

  /// Locks all stores.
  ///
  /// - Returns: The owner of the commits, and which stores hide theirs; nil if no store is observed.
  private static func lock(_ locks: Locks, _ context: AtomicContext) -> AtomicNotices? {
    var notices: AtomicNotices?
    while true {
      if notices == nil, hasObserved(locks) { notices = AtomicNotices(context) }
      for storage in locks {
        storage._withUnsafeGuaranteedRef {
          yieldPoint(.commit, on: context.thread, $0.identifier)
          $0.lock.lock()
        }
      }
      if notices != nil || !hasObserved(locks) { return notices }
      // An observer came meanwhile, and no record is made with a lock held.
      unlock(locks)
    }
  }

  private static func hasObserved(_ locks: Locks) -> Bool {
    locks.contains { $0._withUnsafeGuaranteedRef(\.isObserved) }
  }

  private static func unlock(_ locks: Locks) {
    for storage in locks.reversed() { storage._withUnsafeGuaranteedRef { $0.lock.unlock() } }
  }

  /// The first store whose commits are not saved, since another one was registered under its identifier.
  ///
  /// With all stores locked, so that it stays so until the commits are kept.
  private static func refusal(_ members: Members) -> (index: Int, outcome: StoreOutcome)? {
    for index in members.indices {
      if let error = keeper(of: members[index])?.gate.refusalOfStore {
        return (index, .failed(error))
      }
    }
    return nil
  }

  /// Calls the stores' reducers in order; returns the first failure.
  private static func reduce(
    _ context: AtomicContext, _ members: Members, _ replies: inout [String: any Sendable]?
  ) -> (index: Int, outcome: StoreOutcome)? {
    let thread = context.thread
    var step = AtomicStep(members, keepingReplies: replies != nil)
    return withUnsafeMutablePointer(to: &step) { step in
      thread.atomic = step
      defer { thread.atomic = nil }
      for index in members.indices {
        let storage = members[index].storage
        context.enter(index)
        step.pointee.begin(index)
        thread.beginAtomicReduction(in: storage)
        members[index].undo = storage._withUnsafeGuaranteedRef { storage in
          let undo = Unmanaged.passUnretained(storage.undo)
          undo._withUnsafeGuaranteedRef { $0.begin(storage.modelAddress) }
          return undo
        }
        let answer = context.withAction(at: index) { action in
          members[index].calls._withUnsafeGuaranteedRef { $0.reduce(action, thread) }
        }
        if case .ended(let outcome)? = answer { return (index, outcome) }
        if isPlanted(.sectionLeftEarly) { leaveEarly(storage, members, on: thread) }
      }
      replies = step.pointee.replies
      return nil
    }
  }

  /// Undoes the reductions, and returns what is to be released once the sections have been left.
  private static func undo(_ members: Slice<Members>, on thread: ThreadState) -> [any Sendable] {
    var undone: [any Sendable] = []
    for member in members.reversed() {
      member.storage._withUnsafeGuaranteedRef { storage in
        thread.exclusive = storage
        undone += member.undo.unsafelyUnwrapped._withUnsafeGuaranteedRef {
          $0.undo(storage.modelAddress)
        }
        if isPlanted(.undoneVersion) { storage.version &+= 1 }
      }
    }
    thread.exclusive = nil
    return undone
  }

  /// Lets the keepers of persistent stores keep the commits as one, with the rows of the dispatch's companions.
  ///
  /// - Returns: A keeper that has work to do once the sections have been left.
  private static func keep(
    _ members: Members, with rows: () -> [CompanionRow]
  ) -> CommitKeeper? {
    let keepers = members.lazy.filter(\.isCommit).compactMap(keeper)
    // If no persistent store has changed, the rows are saved all the same before the dispatch ends.
    guard let first = keepers.first ?? members.lazy.compactMap(keeper).first else { return nil }
    return first.keepRead(together: Array(keepers), with: rows()) ? first : nil
  }

  private static func keeper(of member: Members.Element) -> CommitKeeper? {
    member.storage._withUnsafeGuaranteedRef(\.keeper)
  }

  /// Makes the commits, with all sections still entered, and decides who notifies their observers.
  private static func commit(
    _ context: AtomicContext, _ members: Members, _ notices: AtomicNotices?
  ) -> [AtomicDelivery] {
    var deliveries: [AtomicDelivery] = []
    let thread = context.thread
    for index in members.indices {
      let member = members[index]
      member.storage._withUnsafeGuaranteedRef { storage in
        thread.exclusive = storage
        member.undo.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.end(storage.modelAddress) }
        if !member.isCommit { return }
        guard let notices, storage.isObserved else {
          storage.version &+= 1
          return
        }
        deliveries.append(notices.commit(to: storage, at: index, context))
      }
    }
    thread.exclusive = nil
    return deliveries
  }
}
