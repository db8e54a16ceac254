/// A look at the dispatches in flight, one by one: each under its own locks, for as long as copying takes.
///
/// No code of the program runs under a lock.
///
/// The trace of a dispatch keeps its record from being reused, and so does a reference from a dispatch that waits for
/// it. A lane's holder that is known from the lane alone is named, and not looked at. Its step may be about to end
/// it, and its details with it.
struct DiagnosisBuilder {
  let now: Int64
  var map = WaitMap()
  /// Sightings by node.
  var sightings: [Int: Sighting] = [:]
  /// The dispatches to look at, in the order in which they were found; more are added during the look.
  private var path = FIFO<(place: Int, dispatch: Dispatch)>()
  let pending: [WaitForLimit]

  /// The state that the lock of a dispatch's details guards, at an instant.
  struct Sighting {
    let dispatch: Dispatch
    /// The scheduler in which it has its turn; nil once it has left that.
    let place: Scheduler?
    let isWaiting: Bool
    let isDelayed: Bool
    let before: [Dispatch]
    let work: DispatchWork
    let isOver: Bool
    let isCancelled: Bool
    let hasTimedOut: Bool
    /// The number of closures that wait for the end.
    let waiterCount: Int
    /// The deadline, while it may change how the dispatch ends.
    let deadline: Int64?
  }

  /// - Parameter only: The dispatches and calls to look at again; nil for all.
  init(
    _ dispatcher: Dispatcher, _ traces: [InFlightTrace], only: Set<ObjectIdentifier>? = nil
  ) {
    now = dispatcher.clock.nanoseconds
    let waits = dispatcher.controlTables.waits.withLock { $0 }
    pending = waits.values.filter { only?.contains(ObjectIdentifier($0)) ?? true }
    yieldPoint(.diagnose)
    for trace in traces where only?.contains(ObjectIdentifier(trace.dispatch)) ?? true {
      meet(trace)
    }
    lookAtFound()
    describePending()
    // The pending waits may have led to other dispatches.
    lookAtFound()
    followLanes()
  }

  private mutating func lookAtFound() {
    while let (place, dispatch) = path.popFirst() { look(at: dispatch, place) }
  }

  // MARK: Nodes

  private mutating func meet(_ trace: InFlightTrace) {
    let place = map.insert(
      WaitMap.Node(
        identity: ObjectIdentifier(trace.dispatch), id: trace.id, parent: trace.parent,
        callSite: trace.callSite, trace: trace, began: trace.began, moved: trace.moved))
    path.append((place, trace.dispatch))
  }

  /// Returns the node of a dispatch that another one refers to.
  mutating func meet(_ dispatch: Dispatch, isKept: Bool = true) -> Int {
    if let place = map.place(of: ObjectIdentifier(dispatch)) { return place }
    let place = map.insert(
      WaitMap.Node(
        identity: ObjectIdentifier(dispatch), id: dispatch.id, parent: nil,
        callSite: dispatch.callSite, trace: nil, began: nil, moved: nil))
    if isKept { path.append((place, dispatch)) }
    return place
  }

  // MARK: A dispatch

  private mutating func look(at dispatch: Dispatch, _ place: Int) {
    yieldPoint(.diagnose, dispatch.id.description)
    let sighting = dispatch.withScheduler { life, scheduler in
      Sighting(
        dispatch: dispatch, place: scheduler?.place, isWaiting: life.isWaiting,
        isDelayed: life.isDelayed, before: life.before, work: life.work, isOver: life.isOver,
        isCancelled: life.isCancelled, hasTimedOut: life.refusal != nil,
        waiterCount: life.waiterCount,
        deadline: life.isWaiting || life.isUnsettled ? life.limit?.deadline.time : nil)
    }
    sightings[place] = sighting
    map.nodes[place].isWaiting = sighting.isWaiting
    map.nodes[place].deadline = sighting.deadline
    map.nodes[place].isHeldBack = sighting.before.contains { !$0.hasEnded }
    if sighting.isOver { return }
    for other in sighting.before where !other.hasEnded {
      let target = meet(other)
      map.link(place, to: target, .after, "runs after")
      map.add({ "waits for the end of \($0(target)), after which it runs" }, to: place)
    }
    if let caller = map.nodes[place].trace?.caller, !caller.isOver {
      map.link(meet(caller), to: place, .awaits, "waits for")
    }
    // The calls that wait for units are described on their own.
    for (part, target) in WaitGraph.waits(of: dispatch)
    where !target.hasEnded && !(target.gate is WaitForLimit) {
      let awaited = meet(target)
      let store = (part as? StoreRun).map { "the code of store \"\($0.storeIdentifier)\"" }
      map.link(place, to: awaited, .awaits, "waits for")
      map.add({ "\(store ?? "its code") waits for the end of \($0(awaited))" }, to: place)
    }
    if sighting.isDelayed {
      map.nodes[place].waitsForTime = true
      map.add("waits for its time: it is delayed or scheduled", to: place)
    } else if map.nodes[place].trace?.present.isPrepared == false {
      // Before they have returned, a dispatch has neither a turn nor work.
      map.add("its hooks are called, before it starts", to: place)
    } else if sighting.isWaiting {
      lookAtGate(dispatch, place)
      lookAtTurn(sighting, place)
    } else {
      lookAtWork(sighting, place)
    }
  }

  /// Looks at a dispatch that is held back in its turn by a condition, or by dispatches that have its keys.
  private mutating func lookAtGate(_ dispatch: Dispatch, _ place: Int) {
    guard let gate = dispatch.gateAtTurn else { return }
    map.nodes[place].isHeldBack = true
    map.nodes[place].waitsForTime = gate.opensWithTime(for: dispatch)
    var targets: [ObjectIdentifier: Int] = [:]
    for obstacle in gate.obstacles(of: dispatch, followingLines: false) {
      let target = meet(obstacle.dispatch)
      targets[ObjectIdentifier(obstacle.dispatch)] = target
      map.link(place, to: target, .holdsBack, "is held back by")
    }
    map.add(
      { [targets] name in
        let text = gate.description(of: dispatch) { other in
          targets[ObjectIdentifier(other)].map(name) ?? other.nameByCallSite
        }
        return "waits for \(text)"
      }, to: place)
  }

  /// Looks at a dispatch that waits for the concurrent queue, or between two actions; lanes follow later.
  private mutating func lookAtTurn(_ sighting: Sighting, _ place: Int) {
    let steps = map.nodes[place].trace?.present.endedSteps ?? 0
    if steps > 0, sighting.place?.isSuspended == true {
      map.add("pauses between two actions, since the queue is suspended", to: place)
      map.nodes[place].waitsForQueue = true
    }
    guard !map.nodes[place].isHeldBack, let pool = sighting.place as? ConcurrentPool
    else { return }
    let text =
      pool.isSuspended
      ? "waits for the queue, which is suspended"
      : "waits for a place on the concurrent queue, which is \(pool.width) wide"
    map.add(text, to: place)
    map.nodes[place].waitsForQueue = true
  }

  /// Looks at a dispatch whose code runs.
  private mutating func lookAtWork(_ sighting: Sighting, _ place: Int) {
    switch sighting.work {
    case .none:
      lookAtInlineRun(place)
    case .step(let step):
      let (target, trace) = (meet(step), map.nodes[place].trace)
      let number = (trace?.present.endedSteps ?? 0) + 1
      let count = trace.map { " of \($0.actions.count)" } ?? ""
      map.link(place, to: target, .action, "waits for its action")
      map.add({ "runs action \(number)\(count): \($0(target))" }, to: place)
    case .round(let round):
      for standing in round.standings { look(at: standing, place) }
    }
  }

  private mutating func lookAtInlineRun(_ place: Int) {
    guard let progress = map.nodes[place].trace?.present else { return }
    guard let store = progress.stores.last(where: { $0.startedAt != nil && !$0.hasEnded }) else {
      let hasEnded = !progress.stores.isEmpty && progress.stores.allSatisfy(\.hasEnded)
      return map.add(hasEnded ? "its completion or its hooks run" : "starts", to: place)
    }
    let since = Duration.nanoseconds(now - store.startedAt!).inWords
    map.nodes[place].runsBlock = true
    map.add("runs store \"\(store.identifier)\" since \(since) (on a thread)", to: place)
  }
}
