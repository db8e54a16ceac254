// The gate of a round to a persistent store: before its stores start, and after they have ended.
extension Round {
  struct Gated {
    /// The reason why the gate lets no store start.
    var rejection: DispatchError?
    /// The start that the gate holds back.
    weak var heldStart: HeldStart?
    /// The ended store runs whose `didDispatch` waits until all commits are saved.
    var unhooked: [(StoreRun, StoreOutcome)] = []
  }

  /// The gate at which the dispatch waits after its stores; nil for most, and for the step of a sequence.
  var endGate: EndGate? {
    dispatch.isStep || dispatch.details?.endsUnsaved == true ? nil : route.endGate
  }

  /// Whether all that follows the commit of the only store is the end, in which the caller's thread saves the commit.
  var endsAfterReduction: Bool {
    route.count == 1 && route.onlyReduces && retry == nil && endGate != nil
      && dispatch.details?.inheritedDeadline == nil
  }

  /// Parks the first stores until the gate admits the dispatch; returns false if it may start them now.
  func holdBack(at gate: EndGate, _ indices: [Int]) -> Bool {
    guard !indices.isEmpty else { return false }
    let key = state.withLock { $0.park(indices) }
    let start = HeldStart { _ = self.unpark(key) }
    gated?.withLock { $0.heldStart = start }
    switch gate.admit(start, mayReject: dispatch.details?.mayBeRejected != false) {
    case .waits where !isCancelled: return true
    case .waits: gate.forget(start)
    case .fails(let error):
      gated?.withLock { $0.rejection = error }
      dispatch.whole.sequence?.reject()
    case .starts: break
    }
    // A cancellation may have resumed it.
    return state.withLock { $0.unpark(key) } == nil
  }

  /// The outcome of a store that its gate does not let start; in an atomic action, the gate of any store.
  func refusedOutcome(_ index: Int) -> StoreOutcome? {
    guard let gate = route.endGate else { return nil }
    let own = isAtomic ? route.entries[...] : route.entries[index...index]
    let error =
      gated?.withLock(\.rejection) ?? gate.refusal
      ?? own.lazy.compactMap(\.endGate?.refusalOfStore).first
    return error.map(StoreOutcome.failed)
  }

  /// Calls the `didDispatch` hooks that had to wait until all commits were saved.
  func callRemainingHooks() {
    guard let session else { return }
    // Taken from the round, because a store run refers to it.
    var runs: [(StoreRun, StoreOutcome)] = []
    gated?.withLock { swap(&runs, &$0.unhooked) }
    for (storeRun, outcome) in runs { didDispatch(storeRun, outcome, session) }
  }
}
