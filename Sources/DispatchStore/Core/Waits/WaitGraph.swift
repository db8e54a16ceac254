/// The graph of dispatches that wait for each other, by which a wait that can't end is refused.
///
/// Records only waits made from inside a dispatch. Apart from dependencies of operations, no other wait can close a
/// ring. One lock serves the process, since handles are awaited across dispatchers. Lock order: the graph, then a
/// lane, a dispatch, a round or an operation, then what a gate asks: a limit or an exclusion table.
package enum WaitGraph {
  /// The waits of a process or of a simulated world, besides those that dispatches keep, and the lock of them all.
  package final class WaitRecords: Sendable {
    fileprivate let lock = Locked(Records())

    package init() {}
  }

  private static let ofProcess = WaitRecords()

  /// The records of the process, or of the simulated world, which has a main queue of its own.
  private static var records: Locked<Records> {
    (ThreadState.current.simulated?.world.waitRecords ?? ofProcess).lock
  }

  fileprivate struct Records {
    /// The dispatches that hold up the main queue while they wait, with the number of such waits.
    var mainHolders: [ObjectIdentifier: (dispatch: Dispatch, count: Int)] = [:]
    /// The present waits that block a thread of the cooperative pool.
    var taskThreadWaits: [Int: (waiter: Dispatch, target: Target)] = [:]
    private var lastKey = 0

    mutating func makeKey() -> Int {
      lastKey += 1
      return lastKey
    }

    func search(for held: HeldUps, _ holdUps: HoldUps) -> WaitSearch {
      WaitSearch(held: held, holdUps: holdUps, mainHolders: mainHolders.values.map(\.dispatch))
    }

    /// Returns the ring of a cooperative-pool thread that is blocked already, and now needs a task to end.
    ///
    /// The thread needs it because of a wait that the held-up dispatches begin, or a gate that they have come to.
    func ringOfTaskThread(through held: [HeldUp]) -> WaitRing? {
      // A search has marked everything that such a thread waits for.
      guard held.contains(where: { $0.dispatch.details?.isReached == true }) else { return nil }
      for wait in taskThreadWaits.values {
        var search = search(for: HeldUps(), .taskThread)
        if let ring = search.ring(through: wait.target, of: wait.waiter) { return ring }
      }
      return nil
    }

    mutating func add(mainHolder: Dispatch) {
      mainHolders[ObjectIdentifier(mainHolder), default: (mainHolder, 0)].count += 1
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
    /// The part of a round, of those that run at a time; nil in hooks, completions and inline runs.
    let part: AnyObject?
    /// Whether the wait blocks the only thread that runs steps of the dispatch.
    let blocksSteps: Bool
    /// Whether this is a completion at a deadline: only the result waits for it, not the stores or the lane.
    var isOfResult = false
  }

  /// The parts of dispatches that a wait holds up, from inside to outside.
  ///
  /// A search looks farther outside only if it meets something that may be there. So a wait for a dispatch that has
  /// just begun meets nothing, however deep the nesting.
  struct HeldUps {
    private(set) var known: [HeldUp]
    private var next: DispatchContext?
    private var isBlocked: Bool

    init(_ known: HeldUp..., by context: DispatchContext? = nil, blocksThread: Bool = true) {
      self.known = known
      (next, isBlocked) = (context, blocksThread)
    }

    var isEmpty: Bool { known.isEmpty && next == nil }

    mutating func contains(where fits: (HeldUp) -> Bool) -> Bool {
      if known.contains(where: fits) { return true }
      while let heldUp = extend() { if fits(heldUp) { return true } }
      return false
    }

    /// Returns the parts with which a wait is to be recorded.
    ///
    /// Leaves out parts that wait for one of the others already, such as a block that awaits its `send`. Includes all
    /// parts if a thread is blocked, since that thread may run steps of more of them.
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

  /// A recorded wait.
  struct Wait {
    fileprivate let key: Int
    fileprivate let waiters: [Dispatch]
    fileprivate let mainHolder: Dispatch?
  }

  // MARK: Waits

  /// Records that the task of a context waits; throws `wouldDeadlock`.
  static func begin(
    _ context: DispatchContext, for target: Target
  ) throws(DispatchError) -> Wait {
    try begin(
      HeldUps(by: context, blocksThread: false), for: target, by: context.dispatch,
      context.holdUps, blocksThread: false)
  }

  /// Records that the task of a context awaits a refused dispatch.
  ///
  /// The dispatch is about to end, but its completion may still wait for others.
  ///
  /// - Parameter drop: Decides that the dispatch ends. Called under the graph's lock: a search that finds the wait must not
  ///   find the dispatch in its lane.
  static func begin<Decision>(
    _ context: DispatchContext, onRefused target: Dispatch, _ drop: () -> Decision
  ) -> (Wait, Decision) {
    records.withLock { (record(context, for: .own(target), in: &$0), drop()) }
  }

  /// Records the wait of a `.sync` dispatch for those before it, which blocks the caller's thread.
  ///
  /// On the main queue, the caller holds up everything scheduled there.
  static func begin(_ synchronous: Dispatch) throws(DispatchError) -> Wait? {
    var holdUps = holdUps(of: synchronous.outer)
    if MainQueue.isCurrent { holdUps.insert(.mainQueue) }
    if ThreadState.current.isTaskThread { holdUps.insert(.taskThread) }
    let held = HeldUps(by: synchronous.outer, blocksThread: true)
    if held.isEmpty, holdUps.isEmpty { return nil }
    return try begin(
      held, for: .dispatch(synchronous), by: synchronous.outer?.dispatch ?? synchronous, holdUps)
  }

  /// Records that a part of a round waits for operations on which its operation depends.
  ///
  /// The operation has the wait itself; only the wait of a `.sync` caller is recorded.
  ///
  /// - Parameter beginsToWait: Called under the graph's lock if the wait is not refused.
  static func begin(
    _ part: AnyObject, of dispatch: Dispatch, _ operation: some DependentOperation,
    on dependencies: [any DependentOperation], _ beginsToWait: (Wait?) -> Void
  ) throws(DispatchError) {
    if dependencies.isEmpty { return beginsToWait(nil) }
    let caller = dispatch.caller
    let held = HeldUps(
      HeldUp(dispatch: dispatch, part: part, blocksSteps: false), by: caller, blocksThread: true)
    var holdUps = holdUps(of: caller)
    if dispatch.isSynchronous, MainQueue.isCurrent { holdUps.insert(.mainQueue) }
    if dispatch.blocksTaskThread { holdUps.insert(.taskThread) }
    _ = try begin(
      held, for: .operations(operation, dependencies), by: dispatch, holdUps, beginsToWait)
  }

  /// Records that a group waits for a dispatch, until that has ended.
  ///
  /// Called before the scheduler has the dispatch. Once it has, `ring(around:)` finds the ring that is closed, and so do
  /// later waits of the dispatch itself.
  ///
  /// - Parameter group: The context of the group, inside of the code that waits for the group's end.
  static func begin(_ group: DispatchContext, onUnaccepted target: Dispatch) {
    yieldPoint(.enterWait, group.dispatch.id.description)
    let wait = records.withLock { records -> Wait in
      target.makeDetails().isReached = true
      let wait = record(group, for: .dispatch(target), in: &records)
      if group.holdUps.contains(.taskThread) {
        records.taskThreadWaits[wait.key] = (group.dispatch, .dispatch(target))
      }
      return wait
    }
    target.at(.beforeResult) { WaitGraph.end(wait) }
  }

  /// Notes that another dispatch, which is not known yet, waits for these.
  static func waits(for dispatches: [Dispatch]) {
    records.withLock { _ in
      for dispatch in dispatches { dispatch.makeDetails().isReached = true }
    }
  }

  /// Returns the ring around a dispatch for which others wait already, if their waits have closed one.
  ///
  /// - Parameter context: The context whose task awaits the dispatch, if there is one.
  static func ring(around dispatch: Dispatch, in context: DispatchContext? = nil) -> WaitRing? {
    search(around: dispatch, holdUps(of: context).intersection(.taskThread)).ring
  }

  /// Searches for the ring around a dispatch.
  ///
  /// - Parameter overtaking: Whether to search for the dispatch that must overtake others, if there is no ring.
  private static func search(
    around dispatch: Dispatch, _ holdUps: HoldUps, overtaking: Bool = false
  ) -> (ring: WaitRing?, overtaking: Dispatch?) {
    yieldPoint(.enterWait, dispatch.id.description)
    return records.withLock { records -> (WaitRing?, Dispatch?) in
      // Each dispatch that waits for this one has reached it by a search. If none has, it is in no ring. So a long
      // chain is not searched for each of its links.
      guard dispatch.makeDetails().isReached else { return (nil, nil) }
      let held = HeldUps(HeldUp(dispatch: dispatch, part: nil, blocksSteps: false))
      var search = records.search(for: held, holdUps)
      let ring =
        search.ring(through: .own(dispatch), of: dispatch)
        ?? records.ringOfTaskThread(through: held.known)
      let overtakes = overtaking && ring == nil && search.hasMetQueue
      return (ring, overtakes ? search.overtaking(.own(dispatch)) : nil)
    }
  }

  /// Refuses or reorders a dispatch that has come to its gate; called on the thread that tries the gate.
  ///
  /// If the dispatches that it waits for there wait for it, it is refused. If they only came before it, it overtakes
  /// them.
  static func waits(atGate dispatch: Dispatch) {
    let blocksTaskThread =
      dispatch.isSynchronous
      && (dispatch.blocksTaskThread || holdUps(of: dispatch.outer).contains(.taskThread))
    let blocked: HoldUps = blocksTaskThread ? .taskThread : []
    let (ring, overtaking) = search(around: dispatch, blocked, overtaking: true)
    if let ring { return dispatch.endAcceptance(refusing: ring.error) }
    // Dispatches before it may be tasks that need the thread.
    if blocksTaskThread { dispatch.overtake() }
    let held = HeldUps(HeldUp(dispatch: dispatch, part: nil, blocksSteps: false))
    overtake(overtaking, onWayTo: .own(dispatch), for: held, blocked)
  }

  /// Lets a dispatch overtake others at its gate, and then each one that a further search finds.
  private static func overtake(
    _ first: Dispatch?, onWayTo target: Target, for held: HeldUps, _ holdUps: HoldUps
  ) {
    var next = first
    while let dispatch = next {
      dispatch.overtake()
      next = records.withLock { records in
        var search = records.search(for: held, holdUps)
        return search.overtaking(target)
      }
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

  /// Returns the recorded waits of a dispatch's code: the part of its round that waits, if any, and the target.
  static func waits(of dispatch: Dispatch) -> [(part: AnyObject?, target: Dispatch)] {
    guard let details = dispatch.details else { return [] }
    return records.withLock { _ in details.waits.values.map { ($0.heldUp.part, $0.target) } }
  }

  /// The end for which something waits.
  enum Target {
    case dispatch(Dispatch)
    /// The dispatch that the waiting task itself runs, or that waits: it does not count as held up where a search begins.
    case own(Dispatch)
    /// An operation, and the operations that it depends on.
    case operations(any DependentOperation, [any DependentOperation])

    fileprivate var isOwn: Bool { if case .own = self { true } else { false } }
  }

  private static func begin(
    _ held: HeldUps, for target: Target, by waiter: Dispatch, _ holdUps: HoldUps,
    blocksThread: Bool = true, _ beginsToWait: (Wait?) -> Void = { _ in }
  ) throws(DispatchError) -> Wait {
    yieldPoint(.enterWait, waiter.id.description)
    let blocksTaskThread = holdUps.contains(.taskThread)
    var overtaking: Dispatch?
    let (wait, ring) = records.withLock { records -> (Wait?, WaitRing?) in
      var search = records.search(for: held, holdUps)
      if blocksTaskThread || mayCloseRing(target, waiter),
        let ring = search.ring(through: target, of: waiter)
      {
        return (nil, ring)
      }
      if search.hasMetQueue { overtaking = search.overtaking(target) }
      let key = records.makeKey()
      var held = held
      let recorded = held.recorded(blocksThread: blocksThread)
      // Before the search from a thread that is blocked already, which may lead through this wait.
      let waiters = record(recorded, for: target, key)
      if blocksTaskThread, !target.isOwn {
        records.taskThreadWaits[key] = (waiter, target)
      } else if let ring = records.ringOfTaskThread(through: recorded) {
        for waiter in waiters { waiter.details?.waits[key] = nil }
        if case .operations(let operation, _) = target { operation.setAwaited([]) }
        return (nil, ring)
      }
      let mainHolder = holdUps.contains(.mainQueue) ? waiter : nil
      if let mainHolder { records.add(mainHolder: mainHolder) }
      let wait = Wait(key: key, waiters: waiters, mainHolder: mainHolder)
      beginsToWait(wait)
      return (wait, nil)
    }
    if let ring { throw ring.error }
    overtake(overtaking, onWayTo: target, for: held, holdUps)
    return wait!
  }

  /// Records the wait of a context's task, without a search.
  private static func record(
    _ context: DispatchContext, for target: Target, in records: inout Records
  ) -> Wait {
    let key = records.makeKey()
    var held = HeldUps(by: context, blocksThread: false)
    let waiters = record(held.recorded(blocksThread: false), for: target, key)
    let mainHolder = context.holdUps.contains(.mainQueue) ? context.dispatch : nil
    if let mainHolder { records.add(mainHolder: mainHolder) }
    return Wait(key: key, waiters: waiters, mainHolder: mainHolder)
  }

  /// Records the wait on each held-up dispatch, so that a search need not know the nesting of contexts.
  ///
  /// If an operation waits, it has the wait itself: the dispatches around its own one get a wait for that dispatch.
  private static func record(_ held: [HeldUp], for target: Target, _ key: Int) -> [Dispatch] {
    var held = held[...]
    let awaited: Dispatch
    switch target {
    case .dispatch(let dispatch):
      awaited = dispatch
    case .own(let dispatch):
      awaited = dispatch
      dispatch.makeDetails().isAwaited = true
    case .operations(let operation, let dependencies):
      operation.setAwaited(dependencies)
      awaited = held.removeFirst().dispatch
    }
    // The innermost comes last: it counts if a dispatch is held up twice.
    for heldUp in held.reversed() {
      heldUp.dispatch.makeDetails().waits[key] = Edge(heldUp: heldUp, target: awaited)
    }
    return held.map(\.dispatch)
  }

  private static func holdUps(of context: DispatchContext?) -> HoldUps { context?.holdUps ?? [] }

  /// Whether a wait may close a ring: an operation's only if another wait may need that operation's end.
  ///
  /// So a long chain of operations is not searched again for each of them. A search marks all that it reaches.
  /// An operation's dependencies are marked before its wait is recorded. Operations that become reachable later are
  /// behind another dispatch: in its lane, or as its `.sync` child or step. A wait that blocks a thread for tasks is
  /// searched in any case.
  private static func mayCloseRing(_ target: Target, _ dispatch: Dispatch) -> Bool {
    guard case .operations(let operation, _) = target else { return true }
    return dispatch.makeDetails().isReached || operation.isReached || dispatch.outer != nil
      || dispatch.scheduler.hasWaitingDispatches || dispatch.makeDetails().withState(\.isHolder)
  }
}
