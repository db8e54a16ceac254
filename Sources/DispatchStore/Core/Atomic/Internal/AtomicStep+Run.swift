extension AtomicStep {
  /// Takes an atomic action through its stores: all of them change, or none.
  ///
  /// Observers are notified before this returns.
  static func run(_ context: AtomicContext) -> AtomicOutcome {
    let route = context.route
    let obstacles = (0..<route.count).compactMap { index in
      context.obstacle(at: index).map { (index, $0) }
    }
    if !obstacles.isEmpty { return AtomicOutcome(failedBy: obstacles, along: route) }
    var members: [Member] = []
    for index in 0..<route.count {
      guard let (calls, store) = route.entries[index].target else {
        return AtomicOutcome(failedBy: [(index, .cancelled(hasStarted: false))], along: route)
      }
      members.append(Member(calls: calls, store: store))
    }
    // In the global order in which several stores are locked.
    var storages = members.map(\.storage)
    if !isPlanted(.locksInStoreOrder) { storages.sort { $0.lockRank < $1.lockRank } }
    let companions = context.companions
    var step = AtomicStep(consume members, keepingReplies: !companions.isEmpty)
    defer { withExtendedLifetime(step.members) {} }
    return step.run(context, storages, companions)
  }

  private mutating func run(
    _ context: AtomicContext, _ storages: [StoreStorage], _ companions: [DispatchCompanion]
  ) -> AtomicOutcome {
    let (route, thread) = (context.route, context.thread)
    let hiding = Self.lock(storages, context)
    if let refusal = refusal() {
      Self.unlock(storages)
      return AtomicOutcome(failedBy: [refusal], along: route)
    }
    if let failure = reduce(context) {
      let undone = undo(through: failure.index, on: thread)
      Self.unlock(storages)
      thread.endUndoneSection()
      withExtendedLifetime(undone) {}
      return AtomicOutcome(failedBy: [failure], along: route, wasBegun: true)
    }
    var deliveries = commit(context, hiding)
    let replies = replies ?? [:]
    let keeper = keep { companions.flatMap { $0.rows(with: replies, from: route.identifiers) } }
    for index in deliveries.indices { deliveries[index].publish() }
    Self.unlock(storages)
    // Before observers, which may wait until the commit is saved.
    keeper?.kept()
    Self.notify(deliveries, context)
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
  /// - Returns: The stores that hide their commits; nil if no store is observed.
  private static func lock(_ storages: [StoreStorage], _ context: AtomicContext) -> Set<Int>? {
    var hiding: Set<Int>?
    while true {
      if hiding == nil, storages.contains(where: \.isObserved) { hiding = context.hidingStores }
      for storage in storages {
        yieldPoint(.commit, on: context.thread, storage.identifier)
        storage.lock.lock()
      }
      if hiding != nil || !storages.contains(where: \.isObserved) { return hiding }
      // An observer came meanwhile, and a reducer is asked with no lock held whether it hides its commit.
      unlock(storages)
    }
  }

  private static func unlock(_ storages: [StoreStorage]) {
    for storage in storages.reversed() { storage.lock.unlock() }
  }

  /// The first store whose commits are not saved, since another one was registered under its identifier.
  ///
  /// With all stores locked, so that it stays so until the commits are kept.
  private func refusal() -> (index: Int, outcome: StoreOutcome)? {
    for (index, member) in members.enumerated() {
      if let error = member.storage.keeper?.gate.refusalOfStore { return (index, .failed(error)) }
    }
    return nil
  }

  /// Calls the stores' reducers in order; returns the first failure.
  private mutating func reduce(_ context: AtomicContext) -> (index: Int, outcome: StoreOutcome)? {
    let thread = context.thread
    return withUnsafeMutablePointer(to: &self) { step in
      thread.atomic = step
      defer { thread.atomic = nil }
      for index in step.pointee.members.indices {
        let member = step.pointee.members[index]
        let storage = member.storage
        context.enter(index)
        step.pointee.begin(index)
        thread.beginAtomicReduction(in: .passUnretained(storage))
        storage.undo.begin(storage.modelAddress)
        let answer = context.withAction(at: index) { member.calls.reduce($0, thread) }
        if case .ended(let outcome)? = answer { return (index, outcome) }
        if isPlanted(.sectionLeftEarly) {
          Self.leaveEarly(storage, step.pointee.members, on: thread)
        }
      }
      return nil
    }
  }

  /// Undoes the reductions, and returns what is to be released once the sections have been left.
  private func undo(through last: Int, on thread: ThreadState) -> [any Sendable] {
    var undone: [any Sendable] = []
    for storage in members[...last].reversed().map(\.storage) {
      thread.exclusive = storage
      undone += storage.undo.undo(storage.modelAddress)
      if isPlanted(.undoneVersion) { storage.version &+= 1 }
    }
    thread.exclusive = nil
    return undone
  }

  /// Lets the keepers of persistent stores keep the commits as one, with the rows of the dispatch's companions.
  ///
  /// - Returns: A keeper that has work to do once the sections have been left.
  private func keep(with rows: () -> [CompanionRow]) -> CommitKeeper? {
    let keepers = members.lazy.filter(\.isCommit).compactMap(\.storage.keeper)
    // If no persistent store has changed, the rows are saved all the same before the dispatch ends.
    guard let first = keepers.first ?? members.lazy.compactMap(\.storage.keeper).first
    else { return nil }
    return first.keepRead(together: Array(keepers), with: rows()) ? first : nil
  }

  /// Makes the commits, with all sections still entered, and decides who notifies their observers.
  private func commit(_ context: AtomicContext, _ hiding: Set<Int>?) -> [AtomicDelivery] {
    var deliveries: [AtomicDelivery] = []
    let thread = context.thread
    for (index, member) in members.enumerated() {
      let storage = member.storage
      thread.exclusive = storage
      storage.undo.end(storage.modelAddress)
      if !member.isCommit { continue }
      if let hiding, storage.isObserved {
        deliveries.append(
          AtomicDelivery(to: storage, at: index, isHidden: hiding.contains(index), context))
      } else {
        storage.version &+= 1
      }
    }
    thread.exclusive = nil
    return deliveries
  }
}
