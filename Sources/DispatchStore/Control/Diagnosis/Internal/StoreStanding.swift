/// The standing of one store in its round.
struct StoreStanding {
  enum Phase {
    /// The store has not started.
    case waiting
    /// The store starts only once its notifier has delivered the deferred changes, and the queue lets it start.
    case parked
    /// The operation runs, or waits for its dependencies.
    case running
    /// The operation has ended, but changes left to a notifier are not delivered.
    case undelivered
    /// The hooks of its end are called.
    case closing
    /// An attempt has failed; the next one follows after a pause.
    case pausing(before: Int)
    case closed
  }

  let identifier: String
  let phase: Phase
  /// The stores that it waits for.
  let prerequisites: [String]
  let operation: (any StoreOperation)?
}

extension Round {
  /// The standing of each store.
  var standings: [StoreStanding] { state.withLock(\.standings) }
}

extension RoundState {
  /// The standing of each store.
  fileprivate var standings: [StoreStanding] {
    let parked = Set(parked.values.joined())
    return entries.enumerated().map { index, entry in
      let phase: StoreStanding.Phase =
        switch entry.phase {
        case .waiting: parked.contains(index) ? .parked : .waiting
        case .starting, .running, .committing: .running
        case .undelivered: .undelivered
        case .closing: .closing
        case .pausing: .pausing(before: entry.attempt)
        case .repeating: .waiting
        case .closed: .closed
        }
      let awaited = prerequisites(of: index).filter { prerequisite in
        if case .closed = entries[prerequisite].phase { false } else { true }
      }
      return StoreStanding(
        identifier: graph.identifiers[index], phase: phase,
        prerequisites: awaited.map { graph.identifiers[$0] }, operation: entry.operation)
    }
  }
}
