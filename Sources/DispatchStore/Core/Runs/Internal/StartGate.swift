/// What a dispatch has to pass in its turn, before it starts: the seam for conditions and exclusion.
///
/// The thread that starts the dispatch tries the gate, without a lock. Where that does not let it pass, the dispatch is
/// parked, and keeps its place, until the gate calls `gateMayOpen()`; then it is tried again, where the dispatch runs.
class StartGate: @unchecked Sendable {
  // because a subclass says why
  /// Whether the dispatch starts now; where not, the gate calls `gateMayOpen()` once it may, also before this returns.
  ///
  /// No two threads try it at a time.
  func letsPass(_ dispatch: Dispatch) -> Bool { fatalError("StartGate is abstract.") }

  /// The dispatch has ended, whether it has passed or not; also called where nothing is left to do.
  func leave(_ dispatch: Dispatch) {}

  /// The dispatch would not wait for those that only came before it, since one of them waits for it.
  func overtake(_ dispatch: Dispatch) {}

  /// The dispatches that have to end before this one can pass, also where it has not come here yet.
  ///
  /// May be called under the locks of the wait graph and of the dispatch.
  ///
  /// - Parameter followingLines: Whether those that only came here before it are left out for what they wait for.
  func obstacles(of dispatch: Dispatch, followingLines: Bool) -> [GateObstacle] { [] }

  /// What the dispatch waits for here, in words; outside of locks, since names of keys are the program's.
  func description(of dispatch: Dispatch) -> String { fatalError("StartGate is abstract.") }
}

/// A dispatch that keeps another one from passing its gate.
struct GateObstacle {
  let dispatch: Dispatch
  /// What both need.
  let key: TypedKey
  /// Whether it has that, and does not only wait for it, too, or has what such a one waits for.
  let isHolder: Bool
}

/// A dispatch's way through its gate, without threads.
struct GateTurn {
  let gate: StartGate
  private var phase = Phase.ahead

  private enum Phase {
    /// To be tried when its scheduler starts the dispatch. Can become trying.
    case ahead
    /// A thread tries it, and tries again where it may have opened meanwhile. Can become closed; ends with the start.
    case trying(again: Bool)
    /// It did not let the dispatch pass. Can become ahead.
    case closed
  }

  init(_ gate: StartGate) {
    self.gate = gate
  }

  /// Whether the dispatch has come to it.
  var isReached: Bool { if case .ahead = phase { false } else { true } }

  /// The scheduler starts the dispatch: its thread tries the gate.
  mutating func begin() -> StartGate {
    phase = .trying(again: false)
    return gate
  }

  /// It is closed; whether the thread is to try again.
  mutating func end() -> Bool {
    guard case .trying(again: true) = phase, !isPlanted(.lostGateOpening) else {
      phase = .closed
      return false
    }
    phase = .trying(again: false)
    return true
  }

  /// It may have opened; whether the scheduler is to start the dispatch again.
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
  /// It is to pass a gate before it starts; before its scheduler has it.
  func wait(at gate: StartGate) {
    makeDetails().withState { $0.wait(at: gate) }
    beforeResult { gate.leave(self) }
  }

  /// The gate that it has not passed yet; nil for most.
  var gate: StartGate? { details?.withState(\.gate) }

  /// Whether it has such a gate.
  var isGated: Bool { details?.withState(\.isGated) ?? false }

  /// Tries the gate; whether the dispatch starts now, and else is parked, or has ended.
  func passes(_ gate: StartGate) -> Bool {
    while true {
      yieldPoint(.tryGate, id.description)
      let isOpen = gate.letsPass(self)
      switch makeDetails().withState({ $0.tried(isOpen) }) {
      case .run: return true
      case .park: return false
      case .tryAgain: continue
      case .skip:
        // Its end may have come before what the gate has just noted.
        gate.leave(self)
        return false
      }
    }
  }

  /// Its gate may let it pass now: it is tried again where the dispatch is parked.
  func gateMayOpen() {
    yieldPoint(.openGate, id.description)
    let parkedAt = makeDetails().withScheduler(queuedAt: { queuedAt }) {
      $0.gateMayOpen() ? $1 : nil
    }
    parkedAt?.unpark(self)
  }

  /// It goes before those that only came to its gate before it.
  func overtake() {
    gate?.overtake(self)
  }

  /// What it waits for at its gate, in words; nil where it has not come to one.
  var gateDescription: String? {
    details?.withState(\.gateAtTurn)?.description(of: self)
  }
}
