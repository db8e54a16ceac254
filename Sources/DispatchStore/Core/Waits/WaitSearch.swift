/// Searches what has to end before something can, for what a wait would hold up.
struct WaitSearch {
  private var held: WaitGraph.HeldUps
  private let holdsUpMainQueue: Bool
  /// Whether the wait blocks one of the system's threads for tasks: no task may have to end before.
  private let blocksTaskThread: Bool
  private let mainHolders: [Dispatch]
  /// What the search has met, each with the place of what led to it.
  private var met: [Met] = []
  private var rest: [Rest] = []
  private var seen: Set<ObjectIdentifier> = []
  private var seenResults: Set<ObjectIdentifier> = []
  /// Whether of the dispatches in an inbox only those count that are before the one that waits there.
  ///
  /// Finding that out takes a walk through the inbox: it is done where a ring closes otherwise.
  private var isExact = false
  /// The dispatch around which a ring is searched: held up, but not where the search begins.
  private var origin: Dispatch?
  /// Whether it goes on from a dispatch at a gate to those that only came before it, which it may overtake; and whether
  /// there were such.
  private var followsQueues = false
  private var hasMetQueue: Bool

  init(
    held: WaitGraph.HeldUps, holdsUpMainQueue: Bool, blocksTaskThread: Bool,
    mainHolders: [Dispatch], hasMetQueue: Bool = false
  ) {
    self.hasMetQueue = hasMetQueue
    self.held = held
    self.holdsUpMainQueue = holdsUpMainQueue
    self.blocksTaskThread = blocksTaskThread
    self.mainHolders = mainHolders
  }

  private enum Node {
    case dispatch(Dispatch)
    case operation(any DependentOperation)
    case mainQueue
  }

  private struct Met {
    let node: Node
    let reason: WaitRing.Reason
    let from: Int?
    /// Whether it was met in its lane, and with it those before it.
    var isOfLane = false
  }

  /// What is left to visit, the last one first.
  private enum Rest {
    case place(Int)
    /// The waits of a dispatch's code, which are met one after the other: of thousands, the first may close a ring.
    case waits(WaitEdges, from: Int)
  }

  private struct WaitEdges {
    var all: Dictionary<Int, WaitGraph.Edge>.Values.Iterator
    /// Those that count of them.
    let areOfResult: Bool
    /// The same of a dispatch whose operation alone is searched; nil for all.
    var isHeldUp: ((WaitGraph.HeldUp) -> Bool)?

    mutating func next() -> Dispatch? {
      while let edge = all.next() {
        if isHeldUp?(edge.heldUp) ?? (edge.heldUp.isOfResult == areOfResult) { return edge.target }
      }
      return nil
    }
  }

  /// The ring that a wait for a dispatch would close.
  ///
  /// - Parameter isSent: Whether nothing around the wait can be the dispatch.
  mutating func ring(
    through target: Dispatch, of waiter: Dispatch, isSent: Bool = false
  ) -> WaitRing? {
    if isSent { origin = target }
    return ring(through: [.dispatch(target)], .waits, of: waiter)
  }

  /// The same for a wait for operations.
  mutating func ring(
    through dependencies: [any DependentOperation], of waiter: Dispatch
  ) -> WaitRing? {
    ring(through: dependencies.map(Node.operation), .dependency, of: waiter)
  }

  /// The ring that is closed already, of what a dispatch needs before it can end.
  mutating func ring(around dispatch: Dispatch) -> WaitRing? {
    origin = dispatch
    return ring(through: [.dispatch(dispatch)], .waits, of: dispatch)
  }

  /// The dispatch that is to overtake others at its gate, since else a wait that was searched closes a ring there.
  ///
  /// There may be more; each time the lines at the gates are others.
  mutating func overtaking(
    through target: Dispatch? = nil, _ dependencies: [any DependentOperation] = []
  ) -> Dispatch? {
    guard hasMetQueue, !isPlanted(.neverOvertaking) else { return nil }
    followsQueues = true
    let nodes = target.map { [Node.dispatch($0)] } ?? dependencies.map(Node.operation)
    return findExactly(nodes, target == nil ? .dependency : .waits).flatMap {
      firstBehindAnother(onWayTo: $0.place)
    }
  }

  /// The same around a dispatch, whose ring is closed already.
  mutating func overtaking(around dispatch: Dispatch) -> Dispatch? {
    origin = dispatch
    return overtaking(through: dispatch)
  }

  /// The first one on the way to a place that only waits there since others have come before it.
  private func firstBehindAnother(onWayTo place: Int) -> Dispatch? {
    var (next, first): (Int?, Dispatch?) = (place, nil)
    while let place = next {
      next = met[place].from
      if case .behind = met[place].reason, let from = next { first = dispatch(of: met[from].node) }
    }
    return first
  }

  private mutating func findExactly(
    _ nodes: [Node], _ reason: WaitRing.Reason
  ) -> (place: Int, end: WaitRing.End)? {
    guard !held.isEmpty || holdsUpMainQueue || blocksTaskThread else { return nil }
    isExact = false
    guard find(nodes, reason) != nil else { return nil }
    isExact = true
    return find(nodes, reason)
  }

  private mutating func ring(
    through nodes: [Node], _ reason: WaitRing.Reason, of waiter: Dispatch
  ) -> WaitRing? {
    guard let (place, end) = findExactly(nodes, reason) else { return nil }
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
    case .mainQueue: nil
    }
  }

  /// The place of what the wait holds up, and why it does.
  private mutating func find(
    _ nodes: [Node], _ reason: WaitRing.Reason
  ) -> (place: Int, end: WaitRing.End)? {
    (met, seen, seenResults) = ([], [], [])
    // Else what records a wait would copy all of those that are left.
    defer { rest = [] }
    for node in nodes { meet(node, reason, from: nil) }
    while let place = nextPlace() {
      let end =
        switch met[place].node {
        case .dispatch(let dispatch): visit(dispatch, at: place)
        case .operation(let operation): visit(operation, at: place)
        case .mainQueue: visitMainQueue(at: place)
        }
      if let end { return (place, end) }
    }
    return nil
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
      // One that has ended at its deadline holds its lane until its stores have, but what waits for it goes on.
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
    let (scheduler, isWaiting, before, work, obstacles) = details.withScheduler(
      queuedAt: { dispatch.queuedAt }
    ) { life, scheduler in
      (
        scheduler, life.isWaiting, life.before, life.work,
        life.gate?.obstacles(of: dispatch, followingLines: followsQueues) ?? []
      )
    }
    if blocksTaskThread, scheduler?.isTask == true { return .task }
    // One that was cancelled while it waited ends without its scheduler.
    if let scheduler {
      // First, and so visited last: a ring through the lane says more.
      if scheduler.needsMainQueue { meet(.mainQueue, .mainQueue, from: place) }
      // One that runs has its lane, or is a step of the one that has.
      if isWaiting, !met[place].isOfLane {
        meetLane(scheduler.place, before: dispatch, from: place)
        if blocksTaskThread, scheduler.place.hasTask(before: dispatch) { return .task }
      }
    }
    for other in before { meet(.dispatch(other), .waits, from: place) }
    meet(obstacles, of: dispatch, from: place)
    meetWaits(details, from: place)
    switch work {
    case .none: break
    case .step(let step): meet(.dispatch(step), .waits, from: place)
    case .round(let round):
      for operation in round.operations { meetDependencies(of: operation, from: place) }
    }
    return nil
  }

  /// Its completion at its deadline, for which those wait that wait for the result.
  private mutating func visitResult(of dispatch: Dispatch, at place: Int) -> WaitRing.End? {
    if held.contains(where: { $0.dispatch === dispatch && $0.isOfResult }) { return .heldUp }
    guard let details = dispatch.details, seenResults.insert(ObjectIdentifier(dispatch)).inserted
    else { return nil }
    meetWaits(details, areOfResult: true, from: place)
    return nil
  }

  /// Whatever is in the inbox and waits for nothing ends once the holder has.
  private mutating func meetLane(
    _ lane: Scheduler, before dispatch: Dispatch, from place: Int
  ) {
    let precedence = lane.precedence(of: dispatch)
    if let holder = precedence.holder {
      meet(.dispatch(holder), .held(lane), from: place, isOfLane: true)
    }
    if isExact {
      for other in lane.heldBack(before: dispatch) where other.isHeldBack || other.isGated {
        meet(.dispatch(other), .queued(lane), from: place, isOfLane: true)
      }
    } else {
      for other in precedence.awaited { meet(.dispatch(other), .waits, from: place) }
      for other in precedence.gated where other !== dispatch {
        meet(.dispatch(other), .queued(lane), from: place, isOfLane: true)
      }
    }
  }

  /// Those that keep a dispatch from passing its gate, also where it has not come there yet.
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
    if holdsUpMainQueue { return .mainQueue }
    for holder in mainHolders { meet(.dispatch(holder), .mainQueue, from: place) }
    return nil
  }

  // MARK: An operation

  /// An operation ends without the other stores of its dispatch, unless their thread has to start it, or to run its
  /// block.
  private mutating func visit(
    _ operation: any DependentOperation, at place: Int
  ) -> WaitRing.End? {
    guard !operation.hasEnded, seen.insert(ObjectIdentifier(operation)).inserted,
      let standing = operation.standing()
    else { return nil }
    let dispatch = standing.dispatch
    let details = dispatch.makeDetails()
    let scheduler = details.withScheduler(queuedAt: { dispatch.queuedAt }) { $1 }
    let needsSteps = standing.needsSteps && scheduler?.runsStoresConcurrently == false
    func holdsItUp(_ heldUp: WaitGraph.HeldUp) -> Bool {
      guard heldUp.dispatch === dispatch, !heldUp.isOfResult else { return false }
      return standing.part == nil || standing.part === heldUp.part
        || needsSteps && heldUp.blocksSteps
    }
    if held.contains(where: holdsItUp) { return .heldUp }
    if scheduler?.needsMainQueue == true { meet(.mainQueue, .mainQueue, from: place) }
    meetWaits(details, where: holdsItUp, from: place)
    meetDependencies(of: operation, from: place)
    return nil
  }
}
