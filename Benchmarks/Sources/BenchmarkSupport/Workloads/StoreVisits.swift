private import DispatchStore

/// A thread visits all stores of a town in shuffled order, again and again, `.sync`.
public enum StoreVisits {
  /// By identifiers that are built anew.
  public static func byIdentifier(_ town: Town) -> Workload {
    { count in
      for turn in 0..<count {
        town.dispatcher.dispatch(
          storeIdentifier: Town.name(town.index(at: turn)), action: Add(turn), mode: .sync)
      }
    }
  }

  /// By the stores themselves.
  public static func byStore(_ town: Town) -> Workload {
    { count in
      for turn in 0..<count { town.stores[town.index(at: turn)].dispatch(Add(turn), mode: .sync) }
    }
  }

  /// What a program has without stores: a dictionary of counters with locks, in the same order.
  public static func lockedCounters(_ town: Town) -> Workload {
    let counters = town.byName { LockedCounter() }
    return { count in
      for turn in 0..<count { counters[Town.name(town.index(at: turn))]!.reduce(Add(turn)) }
    }
  }
}
