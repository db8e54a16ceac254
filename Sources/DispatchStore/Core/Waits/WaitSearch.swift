/// Searches everything that must end before a target can, for the parts that a wait would hold up.
struct WaitSearch {
  private var held: WaitGraph.HeldUps
  /// The resources that the wait blocks, besides dispatches.
  private let holdUps: HoldUps
  /// Whether the wait blocks a thread of the cooperative pool; then no task may have to end before.
  private var blocksTaskThread: Bool { holdUps.contains(.taskThread) }
  private let mainHolders: [Dispatch]
  /// The nodes met so far, each with the place of the node that led to it.
  private var met: [Met] = []
  private var rest: [Rest] = []
  private var seen: Set<ObjectIdentifier> = []
  private var seenResults: Set<ObjectIdentifier> = []
  /// Whether only those dispatches in an inbox count that are before the waiting one, if that is still there.
  ///
  /// This takes a walk through the inbox, so it is done only if a ring closes without it.
  private var isExact = false
  /// The dispatch around which a ring is searched: it is held up, but does not count where the search begins.
  private var origin: Dispatch?
  /// Whether the search goes on from a dispatch at a gate to those that only came before it, which it may overtake.
  ///
  /// `hasMetQueue` says whether there were any.
  private var followsQueues = false
  private(set) var hasMetQueue = false
  /// The limits met so far: true while the holders are being searched, false if one of them can end.
  private var limits: [ObjectIdentifier: Bool] = [:]

  init(held: WaitGraph.HeldUps, holdUps: HoldUps, mainHolders: [Dispatch]) {
    (self.held, self.holdUps, self.mainHolders) = (held, holdUps, mainHolders)
  }

  private enum Node {
    case dispatch(Dispatch)
    case operation(any DependentOperation)
    case mainQueue
    case units(UnitHolders)
  }

  private struct Met {
    let node: Node
    let reason: WaitRing.Reason
    let from: Int?
    /// Whether the dispatch was met in its lane, together with those before it.
    var isOfLane = false
  }

  /// The nodes that are left to visit; the last one is visited first.
  private enum Rest {
    case place(Int)
    /// The waits of a dispatch's code, met one after the other: of thousands, the first may close a ring.
    case waits(WaitEdges, from: Int)
  }

  private struct WaitEdges {
    var all: Dictionary<Int, WaitGraph.Edge>.Values.Iterator
    /// Whether only the waits of a completion at the deadline count, or only all others.
    let areOfResult: Bool
    /// Selects the waits that count, if only an operation of the dispatch is searched; nil for all.
    var isHeldUp: ((WaitGraph.HeldUp) -> Bool)?

    mutating func next() -> Dispatch? {
      while let edge = all.next() {
        if isHeldUp?(edge.heldUp) ?? (edge.heldUp.isOfResult == areOfResult) { return edge.target }
      }
      return nil
    }
  }

  /// Returns the dispatch that must overtake others at its gate, since the searched wait would close a ring there.
  ///
  /// There may be more such dispatches. After each one, the queues at the gates are different.
  mutating func overtaking(_ target: WaitGraph.Target) -> Dispatch? {
    if isPlanted(.neverOvertaking) { return nil }
    followsQueues = true
    return findExactly(target).flatMap { firstBehindAnother(onWayTo: $0.place) }
  }

  /// Returns the first dispatch on the way to a place that waits there only because others came before it.
  private func firstBehindAnother(onWayTo place: Int) -> Dispatch? {
    var (next, first): (Int?, Dispatch?) = (place, nil)
    while let place = next {
      next = met[place].from
      if case .behind = met[place].reason, let from = next { first = dispatch(of: met[from].node) }
    }
    return first
  }

  private mutating func findExactly(
    _ target: WaitGraph.Target
  ) -> (place: Int, end: WaitRing.End)? {
    guard !held.isEmpty || !holdUps.isEmpty else { return nil }
    isExact = false
    guard find(target) != nil else { return nil }
    isExact = true
    return find(target)
  }

  /// Returns the ring that a wait for a target would close, or that is closed already around a dispatch.
  mutating func ring(through target: WaitGraph.Target, of waiter: Dispatch) -> WaitRing? {
    guard let (place, end) = findExactly(target) else { return nil }
    var links: [WaitRing.Link] = []
    var next: Int? = place
    while let place = next {
      if let dispatch = dispatch(of: met[place].node) {
        links.append(WaitRing.Link(reason: met[place].reason, member: WaitRing.Member(dispatch)))
      }
      next = met[place].from
    }
    return WaitRing(waiter, links.reversed(), end)
  }

  private func dispatch(of node: Node) -> Dispatch? {
    switch node {
    case .dispatch(let dispatch): dispatch
    case .operation(let operation): operation.standing()?.dispatch
    case .mainQueue, .units: nil
    }
  }

  /// Returns the place of a part that the wait holds up, and how the ring closes.
  private mutating func find(_ target: WaitGraph.Target) -> (place: Int, end: WaitRing.End)? {
    (met, seen, seenResults, limits) = ([], [], [], [:])
    // Otherwise, recording a wait would copy all the edges that are left.
    defer { rest = [] }
    switch target {
    case .dispatch(let dispatch):
      meet(.dispatch(dispatch), .waits, from: nil)
    case .own(let dispatch):
      origin = dispatch
      meet(.dispatch(dispatch), .waits, from: nil)
    case .operations(_, let dependencies):
      for operation in dependencies { meet(.operation(operation), .dependency, from: nil) }
    }
    return findNext()
  }

  private mutating func findNext() -> (place: Int, end: WaitRing.End)? {
    while let place = nextPlace() {
      let end: WaitRing.End?
      switch met[place].node {
      case .dispatch(let dispatch): end = visit(dispatch, at: place)
      case .operation(let operation): end = visit(operation, at: place)
      case .mainQueue: end = visitMainQueue(at: place)
      case .units(let units):
        if let found = find(units, at: place) { return found }
        end = nil
      }
      if let end { return (place, end) }
    }
    return nil
  }

  /// Searches the dispatches that have the units of a limit, of which the first to end lets the waiting one go on.
  ///
  /// So a ring is closed only if each of them leads to one. Mostly the first one does not.
  private mutating func find(
    _ units: UnitHolders, at place: Int
  ) -> (place: Int, end: WaitRing.End)? {
    // A holder that waits for the same limit ends no sooner.
    if let isOpen = limits[units.limit] { return isOpen ? (place, .heldUp) : nil }
    limits[units.limit] = true
    let outer = (rest, seen, seenResults)
    defer { (rest, seen, seenResults) = outer }
    var found: (place: Int, end: WaitRing.End)?
    for holder in units.dispatches {
      (rest, seen, seenResults) = ([], [], [])
      meet(.dispatch(holder), .unit(units.name), from: place)
      guard let next = findNext() else {
        limits[units.limit] = false
        return nil
      }
      // Keeps the first one on whose way a dispatch may overtake, or else the last one.
      if let found, firstBehindAnother(onWayTo: found.place) != nil { continue }
      found = next
    }
    // The holders may lead to a ring only because a limit farther outside is being searched.
    limits[units.limit] = nil
    return found
  }

  private mutating func nextPlace() -> Int? {
    while let next = rest.popLast() {
      switch next {
      case .place(let place):
        return place
      case .waits(var edges, from: let from):
        guard let target = edges.next() else { continue }
        rest.append(.waits(edges, from: from))
        meet(.dispatch(target), .waits, from: from)
      }
    }
    return nil
  }

  private mutating func meet(
    _ node: Node, _ reason: WaitRing.Reason, from place: Int?, isOfLane: Bool = false
  ) {
    rest.append(.place(met.count))
    met.append(Met(node: node, reason: reason, from: place, isOfLane: isOfLane))
  }

  private mutating func meetWaits(
    _ details: DispatchDetails, areOfResult: Bool = false,
    where isHeldUp: ((WaitGraph.HeldUp) -> Bool)? = nil, from place: Int
  ) {
    let edges = WaitEdges(
      all: details.waits.values.makeIterator(), areOfResult: areOfResult, isHeldUp: isHeldUp)
    rest.append(.waits(edges, from: place))
  }

  // MARK: A dispatch

  private mutating func visit(_ dispatch: Dispatch, at place: Int) -> WaitRing.End? {
    let isOrigin = place == 0 && origin === dispatch
    if case .waits = met[place].reason {
      // A dispatch that ended at its deadline holds its lane until its stores have ended, but its waiters go on.
      if dispatch.hasEnded { return nil }
      if !isOrigin, let end = visitResult(of: dispatch, at: place) { return end }
    }
    func holdsItUp(_ heldUp: WaitGraph.HeldUp) -> Bool {
      heldUp.dispatch === dispatch && !heldUp.isOfResult
    }
    if !isOrigin, held.contains(where: holdsItUp) { return .heldUp }
    guard !dispatch.isOver, seen.insert(ObjectIdentifier(dispatch)).inserted else { return nil }
    let details = dispatch.makeDetails()
    details.isReached = true
    let followsQueues = self.followsQueues
    let (scheduler, isWaiting, before, work, obstacles, units) = dispatch.withScheduler {
      life, scheduler in
      (
        scheduler, life.isWaiting, life.before, life.work,
        life.gate?.obstacles(of: dispatch, followingLines: followsQueues) ?? [], life.gate?.units
      )
    }
    // A dispatch that the waiting task itself takes to the main actor needs no other thread.
    if blocksTaskThread, let scheduler, scheduler.isTask, !(isOrigin && scheduler.needsMainQueue) {
      return .task
    }
    // A dispatch that was cancelled while it waited ends without its scheduler.
    if let scheduler {
      // Met first, and so visited last: a ring through the lane says more.
      if scheduler.needsMainQueue { meet(.mainQueue, .mainQueue, from: place) }
      // A running dispatch has its lane, or is a step of the dispatch that has it.
      let turns = isWaiting ? scheduler.place.turns(of: dispatch) : []
      for turn in turns where turns.count > 1 || !met[place].isOfLane {
        meetLane(turn.lane, before: turn.entry, of: dispatch, from: place)
        if blocksTaskThread, turn.lane.hasTask(before: turn.entry) { return .task }
      }
    }
    for other in before { meet(.dispatch(other), .waits, from: place) }
    meet(obstacles, of: dispatch, from: place)
    if let units { meet(.units(units), .waits, from: place) }
    meetWaits(details, from: place)
    switch work {
    case .none: break
    case .step(let step): meet(.dispatch(step), .waits, from: place)
    case .round(let round):
      for operation in round.operations { meetDependencies(of: operation, from: place) }
    }
    return nil
  }

  /// Visits the completion that runs at the deadline; everything awaiting the result waits for it.
  private mutating func visitResult(of dispatch: Dispatch, at place: Int) -> WaitRing.End? {
    if held.contains(where: { $0.dispatch === dispatch && $0.isOfResult }) { return .heldUp }
    guard let details = dispatch.details, seenResults.insert(ObjectIdentifier(dispatch)).inserted
    else { return nil }
    meetWaits(details, areOfResult: true, from: place)
    return nil
  }

  /// Meets the dispatches that precede one in its lane.
  ///
  /// A dispatch in the inbox that waits for nothing ends once the holder has.
  private mutating func meetLane(
    _ lane: Lane, before entry: Dispatch, of dispatch: Dispatch, from place: Int
  ) {
    yieldPoint(.searchWaits)
    let precedence = isExact ? lane.exactPrecedence(of: entry) : lane.precedence(of: entry)
    if let holder = precedence.holder {
      meet(.dispatch(holder), .held(lane), from: place, isOfLane: true)
    }
    for other in precedence.awaited { meet(.dispatch(other), .waits, from: place) }
    for other in precedence.gated where other !== dispatch {
      meet(.dispatch(other), .queued(lane), from: place, isOfLane: true)
    }
  }

  /// Meets the dispatches that keep a dispatch from passing its gate, even if it has not come there yet.
  private mutating func meet(
    _ obstacles: [GateObstacle], of dispatch: Dispatch, from place: Int
  ) {
    for obstacle in obstacles where obstacle.dispatch !== dispatch {
      if obstacle.isHolder {
        meet(.dispatch(obstacle.dispatch), .key(obstacle.key), from: place)
      } else {
        hasMetQueue = true
        if followsQueues {
          meet(.dispatch(obstacle.dispatch), .behind(obstacle.key), from: place)
        }
      }
    }
  }

  private mutating func meetDependencies(of operation: AnyObject, from place: Int) {
    guard let operation = operation as? any DependentOperation, !operation.hasEnded,
      let standing = operation.standing(), standing.isPending,
      !isPlanted(.dependencyForgotten)
    else { return }
    for dependency in standing.dependencies {
      meet(.operation(dependency), .dependency, from: place)
    }
  }

  private mutating func visitMainQueue(at place: Int) -> WaitRing.End? {
    if holdUps.contains(.mainQueue) { return .mainQueue }
    for holder in mainHolders { meet(.dispatch(holder), .mainQueue, from: place) }
    return nil
  }

  // MARK: An operation

  /// Visits an operation.
  ///
  /// An operation ends without the other stores of its dispatch, unless their thread has to start it or run its block.
  private mutating func visit(
    _ operation: any DependentOperation, at place: Int
  ) -> WaitRing.End? {
    guard !operation.hasEnded, seen.insert(ObjectIdentifier(operation)).inserted,
      let standing = operation.standing()
    else { return nil }
    let dispatch = standing.dispatch
    let details = dispatch.makeDetails()
    // The block may wait for a task later.
    if blocksTaskThread { details.isReached = true }
    let scheduler = dispatch.withScheduler { $1 }
    let needsSteps = standing.needsSteps && scheduler?.runsStoresConcurrently == false
    func holdsItUp(_ heldUp: WaitGraph.HeldUp) -> Bool {
      guard heldUp.dispatch === dispatch, !heldUp.isOfResult else { return false }
      return standing.part == nil || standing.part === heldUp.part
        || needsSteps && heldUp.blocksSteps
    }
    if held.contains(where: holdsItUp) { return .heldUp }
    // Code that already runs has its thread, and the end of a callback needs none.
    if blocksTaskThread, scheduler?.isTask == true, [.pending, .task].contains(operation.activity) {
      return .task
    }
    if scheduler?.needsMainQueue == true { meet(.mainQueue, .mainQueue, from: place) }
    meetWaits(details, where: holdsItUp, from: place)
    meetDependencies(of: operation, from: place)
    return nil
  }
}
