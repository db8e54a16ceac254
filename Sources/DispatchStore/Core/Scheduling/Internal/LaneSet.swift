/// Several lanes in which one dispatch has its turn at once.
///
/// In the first lane the dispatch waits and runs itself. In each other lane waits a *place*: a record without stores,
/// which keeps the lane from the time when its turn comes to the end of the dispatch. A gate keeps the dispatch from
/// starting until all places have come up.
///
/// No ring consists of such dispatches alone. Each enters its lanes in one step, so any two have the same order in all
/// lanes that they share, and in a lane they overtake nobody. So the earliest one that has not started is held up by
/// others only.
final class LaneSet: Scheduler, @unchecked Sendable {
  // because `state` is locked, and all else constant
  /// The lanes, at least two, as the program named them.
  private let lanes: [Lane]
  private let state: Locked<State>

  private struct State {
    /// The lanes but the first in which the place has not come up, until the dispatch has ended.
    var waiting: Set<Int>
    /// The dispatch and its places in the lanes but the first, until the dispatch has ended.
    var dispatch: Dispatch?
    var places: [Dispatch] = []
    /// The dispatcher, until the dispatch has ended.
    var dispatcher: Dispatcher?

    /// Whether all places have come up, and hold their lanes.
    var areFirst: Bool { dispatch != nil && waiting.isEmpty }
  }

  init(_ lanes: [Lane], of dispatcher: Dispatcher) {
    self.lanes = lanes
    state = Locked(State(waiting: Set(1..<lanes.count), dispatcher: dispatcher))
  }

  private var first: Lane { lanes[0] }

  // MARK: Entering

  override func schedule(_ dispatch: Dispatch, for dispatcher: Dispatcher) -> Bool {
    // Nothing else retains these while the dispatch waits.
    let details = dispatch.makeDetails()
    if details.dispatcher == nil { details.dispatcher = dispatcher }
    if !details.isOfTask { details.scheduler = self }
    let places = makePlaces(of: dispatch, areGated: true)
    let entries = [dispatch] + places
    var needDrainers: [Int] = []
    yieldPoint(.push, description)
    let hasEntered =
      isPlanted(.enteredOneByOne)
      ? enterOneByOne(lanes, entries, for: dispatcher, &needDrainers)
      // Locks in the order of their addresses.
      : enter(
        lanes.indices.sorted { address($0) < address($1) }[...], entries, for: dispatcher,
        &needDrainers)
    guard hasEntered else { return false }
    // In the order in which they were named, which is the same in each process; that of the locks is not.
    for index in needDrainers.sorted() { lanes[index].startDrainer(for: dispatcher) }
    // Retained by the state until it leaves, the record is not reused before.
    dispatch.at(.over) { self.leave() }
    return true
  }

  private func address(_ index: Int) -> ObjectIdentifier { ObjectIdentifier(lanes[index]) }

  private func makePlaces(of dispatch: Dispatch, areGated: Bool) -> [Dispatch] {
    (1..<lanes.count).map { index in
      let place = Dispatch(standIn: dispatch.id, at: dispatch.callSite)
      let details = place.makeDetails()
      details.priority = dispatch.details?.priority
      if areGated { details.withState { $0.wait(at: PlaceGate(of: self, in: index)) } }
      return place
    }
  }

  /// Enters the lanes from the first one of a slice on, with the locks of those before it held.
  ///
  /// Each word is closed, so that no thread pushes without a lock; only once all are closed does this push, and open them.
  /// So a dispatch of one lane can't come between two pushes. Otherwise X behind the first place and Y before the second
  /// one, with Y `after` X, would be a cycle that no search looks for.
  private func enter(
    _ rest: ArraySlice<Int>, _ entries: [Dispatch], for dispatcher: Dispatcher,
    _ needDrainers: inout [Int]
  ) -> Bool {
    guard let index = rest.first else {
      begin(entries)
      return true
    }
    var needsDrainer = false
    let hasEntered = lanes[index].enter(
      entries[index], of: entries[0], for: dispatcher, needsDrainer: &needsDrainer
    ) {
      enter(rest.dropFirst(), entries, for: dispatcher, &needDrainers)
    }
    if needsDrainer { needDrainers.append(index) }
    return hasEntered
  }

  /// Keeps the dispatch and its places, and closes its gate, before a drainer can find one of them.
  func begin(_ entries: [Dispatch]) {
    state.withLock { ($0.dispatch, $0.places) = (entries[0], Array(entries.dropFirst())) }
    entries[0].makeDetails().withState { $0.wait(at: LanesGate(of: self, then: $0.gate)) }
  }

  // MARK: Turns

  /// Whether the dispatch is first in each lane but its own one.
  fileprivate var areFirst: Bool { state.withLock(\.areFirst) || isPlanted(.firstInOneLane) }

  /// Notes that a place has come up, and keeps its lane.
  fileprivate func cameUp(in index: Int) {
    let ready = state.withLock { state in
      // A gate is asked again and again.
      state.waiting.remove(index) != nil && state.areFirst ? state.dispatch : nil
    }
    ready?.gateMayOpen()
  }

  /// The lanes that keep the dispatch from starting, in words.
  fileprivate func obstacles(naming name: (Dispatch) -> String) -> String {
    let (waiting, places) = state.withLock { ($0.waiting, $0.places) }
    let texts = waiting.sorted().map { index -> String in
      let lane = lanes[index]
      let holder = places.isEmpty ? nil : lane.precedence(of: places[index - 1]).holder
      return "its turn in \(lane.description)"
        + (holder.map { ", held by \(name($0))" } ?? "")
    }
    return texts.joined(separator: ", and ")
  }

  /// Leaves all lanes but the first one, which its own drainer or task releases.
  private func leave() {
    let (places, dispatcher, dispatch) = state.withLock { state in
      defer { state = State(waiting: []) }
      return (state.places, state.dispatcher, state.dispatch)
    }
    withExtendedLifetime(dispatch) {
      for (lane, place) in zip(lanes.dropFirst(), places) {
        // First, so that a drainer that comes to it later skips it.
        let details = place.makeDetails()
        details.beginEnding()
        details.end(DispatchResult(dispatchID: place.id))
        if let dispatcher { lane.release(place: place, of: dispatcher) }
      }
    }
  }

  // MARK: Tasks

  override func acquire() -> Bool {
    for (index, lane) in lanes.enumerated() where !lane.acquire() {
      release(lanes[..<index])
      return false
    }
    return true
  }

  override func hold(_ dispatch: Dispatch) {
    let places = makePlaces(of: dispatch, areGated: false)
    state.withLock { ($0.waiting, $0.dispatch, $0.places) = ([], dispatch, places) }
    first.hold(dispatch)
    for (lane, place) in zip(lanes.dropFirst(), places) { lane.hold(place, of: dispatch) }
    dispatch.at(.over) { self.leave() }
  }

  override func release(_ dispatch: Dispatch?, ofTaskOf dispatcher: Dispatcher) {
    if let dispatch { first.release(dispatch, ofTaskOf: dispatcher) } else { release(lanes[...]) }
  }

  /// Releases lanes that the calling task has acquired, without a record.
  private func release(_ lanes: ArraySlice<Lane>) {
    guard let dispatcher else { return }
    for lane in lanes { lane.release(nil, ofTaskOf: dispatcher) }
  }

  // MARK: Scheduler

  override var dispatcher: Dispatcher? { state.withLock(\.dispatcher) }
  override var inner: Scheduler? { first }
  override var description: String {
    lanes.map(\.description).joined(separator: " and ")
  }

  override func leaveFurtherPlaces() { leave() }

  override func releaseParked(_ dispatch: Dispatch) { first.releaseParked(dispatch) }

  override func endCancelled(_ step: @escaping @Sendable () -> Void) { first.endCancelled(step) }

  override func turns(of dispatch: Dispatch) -> [(lane: Lane, entry: Dispatch)] {
    let places = state.withLock { $0.dispatch === dispatch ? $0.places : [] }
    return [(first, dispatch)] + zip(lanes.dropFirst(), places).map { ($0, $1) }
  }

  override var hasWaitingDispatches: Bool { lanes.contains(where: \.hasWaitingDispatches) }
}

/// The gate of a dispatch in several lanes, in its turn in the first one.
private final class LanesGate: StartGate, @unchecked Sendable {
  // because it has only constants
  private let lanes: LaneSet

  /// - Parameter next: The gate of the dispatch's options, if it has one.
  init(of lanes: LaneSet, then next: StartGate?) {
    self.lanes = lanes
    super.init(then: next)
  }

  override func letsPass(_ dispatch: Dispatch) -> Bool {
    lanes.areFirst && next?.letsPass(dispatch) ?? true
  }

  override func description(of dispatch: Dispatch, naming name: (Dispatch) -> String) -> String {
    let obstacles = lanes.obstacles(naming: name)
    guard obstacles.isEmpty else { return obstacles }
    return next?.description(of: dispatch, naming: name) ?? "its turn in \(lanes.description)"
  }
}

/// The gate of a place: never opens, so that the place keeps its lane from its turn on.
private final class PlaceGate: StartGate, @unchecked Sendable {
  // because it has only constants
  private let lanes: LaneSet
  private let index: Int

  init(of lanes: LaneSet, in index: Int) {
    (self.lanes, self.index) = (lanes, index)
    super.init()
  }

  override func letsPass(_ place: Dispatch) -> Bool {
    lanes.cameUp(in: index)
    return false
  }
}
