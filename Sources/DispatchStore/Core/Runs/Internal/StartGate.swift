/// A gate that a dispatch has to pass in its turn, before it starts.
///
/// Conditions and exclusion subclass it.
///
/// The thread that starts the dispatch tries the gate without a lock. If the gate is closed, the dispatch is parked
/// and keeps its position. Once the gate calls `gateMayOpen()`, the dispatch tries again on its scheduler.
class StartGate: @unchecked Sendable {
  // because a subclass says why
  /// The gate to pass, too, to which this one forwards what it is told and asked; nil for most.
  final let next: StartGate?

  init(then next: StartGate? = nil) { self.next = next }

  /// Whether the dispatch starts now.
  ///
  /// If not, the gate calls `gateMayOpen()` once it may, perhaps before this returns.
  ///
  /// No two threads try a dispatch at the same time.
  func letsPass(_ dispatch: Dispatch) -> Bool { fatalError("StartGate is abstract.") }

  /// Whether a dispatch may have to wait at the gate; if not, it starts in its turn, or ends.
  var holdsBack: Bool { true }

  /// Called when the dispatch starts, right after the gate has let it pass.
  func passed(_ dispatch: Dispatch) { next?.passed(dispatch) }

  /// Called when the dispatch has ended, whether or not it has passed.
  ///
  /// May be called when nothing is left to do.
  func leave(_ dispatch: Dispatch) { next?.leave(dispatch) }

  /// Called once with the result, before the completion: at the deadline, or once the stores have ended.
  ///
  /// If the caller waits for the stores beyond the deadline, called at both times, perhaps on two threads at once. The
  /// first call counts. Its result may say no more than that the time is over.
  ///
  /// Called for each dispatch with the gate, whether or not it has passed, under no lock.
  func ended(_ dispatch: Dispatch, _ result: DispatchResult) { next?.ended(dispatch, result) }

  /// Lets the dispatch overtake those that only queued before it, because one of them waits for it.
  func overtake(_ dispatch: Dispatch) { next?.overtake(dispatch) }

  /// The dispatches that have to end before this one can pass, even if it has not reached the gate yet.
  ///
  /// May be called under the locks of the wait graph and of the dispatch.
  ///
  /// - Parameter followingLines: Whether a dispatch that only queued before this one is replaced by those it waits
  ///   for.
  func obstacles(of dispatch: Dispatch, followingLines: Bool) -> [GateObstacle] {
    next?.obstacles(of: dispatch, followingLines: followingLines) ?? []
  }

  /// The dispatches of which one has to end before this one can pass; nil for most.
  ///
  /// May be called under the locks of the wait graph and of the dispatch.
  var units: UnitHolders? { nil }

  /// Whether the dispatch waits at this gate for nothing but time, which opens it.
  ///
  /// Call it outside of locks, since equality of keys is user code.
  func opensWithTime(for dispatch: Dispatch) -> Bool {
    next?.opensWithTime(for: dispatch) == true
  }

  /// Describes the obstacles of the dispatch at this gate.
  ///
  /// Call it outside of locks, since names of keys are user code.
  ///
  /// - Parameter name: Names another dispatch.
  func description(of dispatch: Dispatch, naming name: (Dispatch) -> String) -> String {
    fatalError("StartGate is abstract.")
  }
}

/// A dispatch that keeps another one from passing its gate.
struct GateObstacle {
  let dispatch: Dispatch
  /// The key that both need.
  let key: TypedKey
  /// Whether it holds the key, or another one that a waiting dispatch needs.
  ///
  /// False if it only waits for the key, too.
  let isHolder: Bool
}

/// The dispatches that have all units of a limit.
struct UnitHolders {
  let limit: ObjectIdentifier
  /// The limit's name in messages.
  let name: String
  let dispatches: [Dispatch]
}

/// The way of a dispatch through its gate, without threads.
struct GateTurn {
  let gate: StartGate
  private var phase = Phase.ahead

  private enum Phase {
    /// Not yet tried: the scheduler has yet to start the dispatch. Can become trying.
    case ahead
    /// A thread tries the gate, and tries again if it may have opened meanwhile. Can become closed; ends with the
    /// start.
    case trying(again: Bool)
    /// The gate did not let the dispatch pass. Can become ahead.
    case closed
  }

  init(_ gate: StartGate) {
    self.gate = gate
  }

  /// Whether the dispatch has reached the gate.
  var isReached: Bool { if case .ahead = phase { false } else { true } }

  /// Begins a trial by the thread that starts the dispatch.
  mutating func begin() -> StartGate {
    phase = .trying(again: false)
    return gate
  }

  /// Ends a trial at a closed gate; returns whether the thread is to try again.
  mutating func end() -> Bool {
    guard case .trying(again: true) = phase, !isPlanted(.lostGateOpening) else {
      phase = .closed
      return false
    }
    phase = .trying(again: false)
    return true
  }

  /// Notes that the gate may have opened; returns whether the scheduler is to start the dispatch again.
  mutating func mayOpen() -> Bool {
    switch phase {
    case .closed:
      phase = .ahead
      return true
    case .trying:
      phase = .trying(again: true)
      return false
    case .ahead:
      return false
    }
  }
}

extension Dispatch {
  /// Sets a gate to pass before the start.
  ///
  /// Call it before its scheduler has the dispatch.
  func wait(at gate: StartGate) {
    makeDetails().wait(at: gate)
    at(.placeFree) { gate.leave(self) }
  }

  /// Leaves the gate before the result.
  func leaveGate() {
    for leave in makeDetails().withState({ $0.take(.placeFree) }) { leave() }
  }

  /// The gate that it has not passed yet; nil for most.
  var gate: StartGate? { details?.withState(\.gate) }

  /// Whether it has a gate that it has not passed yet.
  var isGated: Bool { details?.withState { $0.gate != nil } ?? false }

  /// Tells the gate how the dispatch ends.
  func tellGate(_ result: () -> DispatchResult) {
    if let gate = details?.withState({ $0.takeToldGate() }) { gate.ended(self, result()) }
  }

  /// Tries the gate.
  ///
  /// Returns whether the dispatch starts now; if not, it is parked or has ended.
  func passes(_ gate: StartGate) -> Bool {
    while true {
      yieldPoint(.tryGate, id.description)
      let isOpen = gate.letsPass(self)
      switch makeDetails().tryStart({ $0.tried(isOpen) }) {
      case .run:
        gate.passed(self)
        return true
      case .park: return false
      case .tryGate: continue
      case .skip:
        // The end may have come before the gate's latest note about this dispatch.
        gate.leave(self)
        return false
      }
    }
  }

  /// Tries the gate again, which may be open now, at the scheduler where the dispatch is parked.
  func gateMayOpen() {
    yieldPoint(.openGate, id.description)
    let parkedAt = withScheduler { $0.gateMayOpen() ? $1 : nil }
    parkedAt?.unpark(self)
  }

  /// Overtakes dispatches that only queued at its gate before it.
  func overtake() {
    gate?.overtake(self)
  }

  /// The gate, if it has reached it and has not passed.
  var gateAtTurn: StartGate? { details?.withState(\.gateAtTurn) }

  /// The obstacle at its gate, in words; nil if it has not reached one.
  var gateDescription: String? {
    gateAtTurn?.description(of: self, naming: \.nameByCallSite)
  }

  /// The name in messages about another dispatch.
  var nameByCallSite: String { "the dispatch at \(callSite)" }
}
