/// Which dispatch waits for which, so that a wait that can't end is refused.
///
/// It records waits made from inside a dispatch only: no others can close a ring, but for dependencies of
/// operations. One lock serves the process, since handles are awaited across dispatchers. Lock order: the
/// graph, then a lane, a dispatch, a round or an operation.
package enum WaitGraph {
  /// What the graph's lock guards beside the waits of dispatches: who holds up the main queue.
  package final class MainHolders: Sendable {
    fileprivate let lock = Locked(Records())

    package init() {}
  }

  private static let ofProcess = MainHolders()

  /// Of the process, or of the simulated world, which has another main queue.
  private static var records: Locked<Records> {
    (ThreadState.current.simulated?.world.mainHolders ?? ofProcess).lock
  }

  fileprivate struct Records {
    /// The dispatches that hold up the main queue while they wait, and by how many waits.
    var mainHolders: [ObjectIdentifier: (dispatch: Dispatch, count: Int)] = [:]
    /// The waits that block one of the system's threads for tasks, while they last.
    var taskThreadWaits: [Int: (waiter: Dispatch, target: Dispatch)] = [:]
    private var lastKey = 0

    mutating func makeKey() -> Int {
      lastKey += 1
      return lastKey
    }

    func search(
      for held: HeldUps, holdsUpMainQueue: Bool, blocksTaskThread: Bool = false,
      hasMetQueue: Bool = false
    ) -> WaitSearch {
      WaitSearch(
        held: held, holdsUpMainQueue: holdsUpMainQueue, blocksTaskThread: blocksTaskThread,
        mainHolders: mainHolders.values.map(\.dispatch), hasMetQueue: hasMetQueue)
    }

    /// The ring of a thread for tasks that is blocked already, and waits for a task now: by what these have begun to
    /// wait for, or a gate that they have come to.
    func ringOfTaskThread(through held: [HeldUp]) -> WaitRing? {
      // A search has reached all that such a thread waits for.
      guard held.contains(where: { $0.dispatch.details?.isReached == true }) else { return nil }
      for wait in taskThreadWaits.values {
        var search = search(for: HeldUps(), holdsUpMainQueue: false, blocksTaskThread: true)
        if let ring = search.ring(through: wait.target, of: wait.waiter) { return ring }
      }
      return nil
    }

    mutating func remove(mainHolder: Dispatch) {
      let key = ObjectIdentifier(mainHolder)
      guard let count = mainHolders[key]?.count else { return }
      if count > 1 { mainHolders[key]?.count -= 1 } else { mainHolders[key] = nil }
    }
  }

  /// A part of a dispatch that does not go on before a wait has ended.
  struct HeldUp {
    let dispatch: Dispatch
    /// In a round, one of those that run at a time; nil in hooks, completions and inline runs.
    let part: AnyObject?
    /// Whether a thread is blocked that runs the steps of the dispatch, which then has no others.
    let blocksSteps: Bool
    /// Whether it is a completion at a deadline, for which the result alone waits: not the stores, nor the lane.
    var isOfResult = false
  }

  /// What a wait holds up, from inside to outside.
  ///
  /// A search looks at what is farther outside only where it meets something that may be there: a wait for what was just
  /// begun meets nothing, however deep it is.
  struct HeldUps {
    private(set) var known: [HeldUp]
    private var next: DispatchContext?
    private var isBlocked = true

    init(_ known: HeldUp...) {
      self.known = known
    }

    init(_ known: HeldUp..., by context: DispatchContext?, blocksThread: Bool) {
      self.known = known
      (next, isBlocked) = (context, blocksThread)
    }

    var isEmpty: Bool { known.isEmpty && next == nil }

    mutating func contains(where fits: (HeldUp) -> Bool) -> Bool {
      if known.contains(where: fits) { return true }
      while let heldUp = extend() { if fits(heldUp) { return true } }
      return false
    }

    /// Finds out with which of them a wait is to be recorded.
    ///
    /// Not with those that wait for one of them already, as a block does that awaits its `send`. With all if a thread is
    /// blocked, which may run steps of more of them.
    mutating func recorded(blocksThread: Bool) -> [HeldUp] {
      while known.last.map({ blocksThread || !$0.dispatch.makeDetails().isAwaited }) ?? true,
        extend() != nil
      {}
      guard !blocksThread,
        let last = known.firstIndex(where: { $0.dispatch.makeDetails().isAwaited })
      else { return known }
      return Array(known[...last])
    }

    private mutating func extend() -> HeldUp? {
      guard let context = next else { return nil }
      let heldUp =
        context.isEarly
        ? HeldUp(dispatch: context.dispatch, part: nil, blocksSteps: false, isOfResult: true)
        : HeldUp(
          dispatch: context.dispatch, part: context.part,
          blocksSteps: isBlocked && (!context.isOfBlock || context.dispatch.isSynchronous))
      known.append(heldUp)
      isBlocked = true
      next = isPlanted(.outerForgotten) ? nil : context.outer
      return heldUp
    }
  }

  /// A wait as it is recorded with each dispatch that it holds up.
  struct Edge {
    let heldUp: HeldUp
    let target: Dispatch
  }

  /// A wait that was recorded.
  struct Wait {
    fileprivate let key: Int
    fileprivate let waiters: [Dispatch]
    fileprivate let mainHolder: Dispatch?
  }

  // MARK: Waits

  /// Records that the task of a context awaits a dispatch; throws `wouldDeadlock`.
  ///
  /// - Parameter isSent: Whether the task runs it: nothing else that the wait holds up can be the dispatch.
  static func begin(
    _ context: DispatchContext, on target: Dispatch, isSent: Bool = false
  ) throws(DispatchError) -> Wait {
    try begin(
      HeldUps(by: context, blocksThread: false), for: isSent ? .sent(target) : .dispatch(target),
      by: context.dispatch, holdsUpMainQueue: holdsUpMainQueue(context),
      blocksTaskThread: blocksTaskThread(context), blocksThread: false)
  }

  /// Records the wait of a `.sync` dispatch for those before it, which blocks the thread of its caller.
  ///
  /// On the main queue, the caller holds up everything scheduled there.
  static func begin(_ synchronous: Dispatch) throws(DispatchError) -> Wait? {
    let holdsUpMainQueue = MainQueue.isCurrent || holdsUpMainQueue(synchronous.outer)
    let blocksTaskThread =
      ThreadState.current.isTaskThread || blocksTaskThread(synchronous.outer)
    let held = HeldUps(by: synchronous.outer, blocksThread: true)
    if held.isEmpty, !holdsUpMainQueue, !blocksTaskThread { return nil }
    return try begin(
      held, for: .dispatch(synchronous), by: synchronous.outer?.dispatch ?? synchronous,
      holdsUpMainQueue: holdsUpMainQueue, blocksTaskThread: blocksTaskThread)
  }

  /// Records the wait of a part of a round for operations on which its operation depends.
  ///
  /// The operation has the wait itself; what is recorded is that of a `.sync` caller.
  ///
  /// - Parameter beginsToWait: Called under the graph's lock, where the wait is not refused.
  static func begin(
    _ part: AnyObject, of dispatch: Dispatch, _ operation: some DependentOperation,
    on dependencies: [any DependentOperation], _ beginsToWait: (Wait?) -> Void
  ) throws(DispatchError) {
    if dependencies.isEmpty { return beginsToWait(nil) }
    let caller = dispatch.caller
    let held = HeldUps(
      HeldUp(dispatch: dispatch, part: part, blocksSteps: false), by: caller, blocksThread: true)
    _ = try begin(
      held, for: .operations(operation, dependencies), by: dispatch,
      holdsUpMainQueue: dispatch.isSynchronous && MainQueue.isCurrent || holdsUpMainQueue(caller),
      beginsToWait)
  }

  /// The ring in which a dispatch is that its scheduler has just got, while others waited for it already.
  static func ring(around dispatch: Dispatch) -> WaitRing? {
    yieldPoint(.enterWait, dispatch.id.description)
    return records.withLock { records in
      var search = records.search(
        for: HeldUps(HeldUp(dispatch: dispatch, part: nil, blocksSteps: false)),
        holdsUpMainQueue: false)
      return search.ring(around: dispatch)
    }
  }

  /// A dispatch has come to its gate, and waits there for others: where they wait for it, it is refused; where they
  /// only came before it, it overtakes them.
  ///
  /// On the thread that tries the gate.
  static func waits(atGate dispatch: Dispatch) {
    yieldPoint(.enterWait, dispatch.id.description)
    let loop = dispatch.details?.scheduler as? SyncLoop
    let blocksTaskThread =
      loop.map { $0.isOnTaskThread || self.blocksTaskThread(dispatch.outer) } ?? false
    let held = HeldUps(HeldUp(dispatch: dispatch, part: nil, blocksSteps: false))
    let (ring, overtaking) = records.withLock { records -> (WaitRing?, Dispatch?) in
      // What waits for it has searched it.
      guard dispatch.makeDetails().isReached else { return (nil, nil) }
      var search = records.search(
        for: held, holdsUpMainQueue: false, blocksTaskThread: blocksTaskThread)
      if let ring = search.ring(around: dispatch) ?? records.ringOfTaskThread(through: held.known) {
        return (ring, nil)
      }
      return (nil, search.overtaking(through: dispatch))
    }
    if let ring { return dispatch.refuse(with: ring.error) }
    // Those before it may be tasks that need the thread.
    if blocksTaskThread { dispatch.overtake() }
    overtake(overtaking) { records in
      var search = records.search(
        for: held, holdsUpMainQueue: false, blocksTaskThread: blocksTaskThread, hasMetQueue: true)
      return search.overtaking(around: dispatch)
    }
  }

  /// Lets a dispatch overtake others at its gate, and then those that a search still finds.
  private static func overtake(
    _ first: Dispatch?, _ search: (inout Records) -> Dispatch?
  ) {
    var next = first
    while let dispatch = next {
      dispatch.overtake()
      next = records.withLock { search(&$0) }
    }
  }

  static func end(_ wait: Wait) {
    yieldPoint(.leaveWait)
    records.withLock { records in
      if let mainHolder = wait.mainHolder { records.remove(mainHolder: mainHolder) }
      records.taskThreadWaits[wait.key] = nil
      for waiter in wait.waiters { waiter.details?.waits[wait.key] = nil }
    }
  }

  /// The waits of a dispatch's code that are recorded now: the part of its round that waits, if it is one, and for
  /// what.
  static func waits(of dispatch: Dispatch) -> [(part: AnyObject?, target: Dispatch)] {
    guard let details = dispatch.details else { return [] }
    return records.withLock { _ in details.waits.values.map { ($0.heldUp.part, $0.target) } }
  }

  private enum Target {
    case dispatch(Dispatch)
    /// That the task itself runs.
    case sent(Dispatch)
    /// Of an operation, those that it depends on.
    case operations(any DependentOperation, [any DependentOperation])
  }

  private static func begin(
    _ held: HeldUps, for target: Target, by waiter: Dispatch, holdsUpMainQueue: Bool,
    blocksTaskThread: Bool = false, blocksThread: Bool = true,
    _ beginsToWait: (Wait?) -> Void = { _ in }
  ) throws(DispatchError) -> Wait {
    yieldPoint(.enterWait, waiter.id.description)
    var overtaking: Dispatch?
    let (wait, ring) = records.withLock { records -> (Wait?, WaitRing?) in
      var search = records.search(
        for: held, holdsUpMainQueue: holdsUpMainQueue, blocksTaskThread: blocksTaskThread)
      let ring =
        switch target {
        case .dispatch(let target): search.ring(through: target, of: waiter)
        case .sent(let target): search.ring(through: target, of: waiter, isSent: true)
        case .operations(let operation, let dependencies):
          mayBeWaitedFor(operation, waiter)
            ? search.ring(through: dependencies, of: waiter) : nil
        }
      if let ring { return (nil, ring) }
      overtaking = self.overtaking(target, &search)
      let key = records.makeKey()
      var held = held
      let recorded = held.recorded(blocksThread: blocksThread)
      let waiters = record(recorded, for: target, key)
      if blocksTaskThread, case .dispatch(let target) = target {
        records.taskThreadWaits[key] = (waiter, target)
      } else if let ring = records.ringOfTaskThread(through: recorded) {
        for waiter in waiters { waiter.details?.waits[key] = nil }
        return (nil, ring)
      }
      if holdsUpMainQueue {
        records.mainHolders[ObjectIdentifier(waiter), default: (waiter, 0)].count += 1
      }
      let mainHolder = holdsUpMainQueue ? waiter : nil
      let wait = Wait(key: key, waiters: waiters, mainHolder: mainHolder)
      beginsToWait(wait)
      return (wait, nil)
    }
    if let ring { throw ring.error }
    overtake(overtaking) { records in
      var search = records.search(
        for: held, holdsUpMainQueue: holdsUpMainQueue, blocksTaskThread: blocksTaskThread,
        hasMetQueue: true)
      return self.overtaking(target, &search)
    }
    return wait!
  }

  private static func overtaking(_ target: Target, _ search: inout WaitSearch) -> Dispatch? {
    switch target {
    case .dispatch(let target), .sent(let target): search.overtaking(through: target)
    case .operations(_, let dependencies): search.overtaking(dependencies)
    }
  }

  /// Each dispatch that is held up gets the wait, or one for another of them that has it, so that a search has not to know
  /// what is around what.
  private static func record(_ held: [HeldUp], for target: Target, _ key: Int) -> [Dispatch] {
    var held = held[...]
    let awaited: Dispatch
    switch target {
    case .dispatch(let dispatch):
      awaited = dispatch
    case .sent(let dispatch):
      awaited = dispatch
      dispatch.makeDetails().isAwaited = true
    case .operations:
      awaited = held.removeFirst().dispatch
    }
    // The innermost last: it is the one that counts where a dispatch is held up twice.
    for heldUp in held.reversed() {
      heldUp.dispatch.makeDetails().waits[key] = Edge(heldUp: heldUp, target: awaited)
    }
    return held.map(\.dispatch)
  }

  // MARK: What a wait holds up

  /// Whether a `.sync` caller that waits for the context does so on one of the system's threads for tasks.
  private static func blocksTaskThread(_ context: DispatchContext?) -> Bool {
    context?.holdUps.contains(.taskThread) == true
  }

  private static func holdsUpMainQueue(_ context: DispatchContext?) -> Bool {
    context?.holdUps.contains(.mainQueue) == true
  }

  /// Whether a wait may need the end of an operation that is about to wait: where not, a long chain of
  /// operations is not searched again for each of them.
  ///
  /// What a search reached is marked, and what another operation depends on is before that is recorded. What becomes
  /// reachable later is behind another dispatch: in its lane, or as its `.sync` child or step.
  private static func mayBeWaitedFor(
    _ operation: some DependentOperation, _ dispatch: Dispatch
  ) -> Bool {
    dispatch.makeDetails().isReached || operation.isReached || dispatch.outer != nil
      || dispatch.scheduler.hasWaitingDispatches || dispatch.makeDetails().withState(\.isHolder)
  }
}

/// An operation of the library, as the graph of waits sees it: without its generic types.
protocol DependentOperation: AnyObject {
  var hasEnded: Bool { get }
  /// Whether something has looked at its standing: a search, or an operation that depends on it, before it waits.
  var isReached: Bool { get }
  /// What goes on of it, for diagnoses.
  var activity: OperationActivity { get }
  /// What it belongs to and waits for, from now on marked as reached; nil where it belongs to no dispatch.
  func standing() -> OperationStanding?
}

/// What goes on of an operation that has not ended.
enum OperationActivity {
  /// It has not started.
  case pending
  /// Its block, or an update through it, runs on a thread.
  case block
  /// Its `async` block runs.
  case task
  /// Its block has returned, and `finish` was not called.
  case callback
}

/// A dispatch's operation while it has not ended.
struct OperationStanding {
  let dispatch: Dispatch
  /// In a round, the part that it is; nil in an inline run.
  let part: AnyObject?
  /// Whether it has not started.
  let isPending: Bool
  /// Whether it can't end unless its dispatch's steps run: to start it, or its `async` block.
  let needsSteps: Bool
  /// The operations of the library on which it depends, also through others.
  let dependencies: [any DependentOperation]
}
