import DispatchStore

/// The pending seeds of a search, and the lowest seed that failed.
package final class SeedSearch: Sendable {
  private let seeds: Range<UInt64>
  private let state: Locked<State>

  private struct State {
    var upcoming: UInt64
    var ended = 0
    var failed: (seed: UInt64, failure: SimulationFailure)?
    var isClosed = false
  }

  package init(_ seeds: Range<UInt64>) {
    self.seeds = seeds
    state = Locked(State(upcoming: seeds.lowerBound))
  }

  /// Returns the next seed, or nil if no pending seed is below the lowest that failed.
  func next() -> UInt64? {
    state.withLockOfProcess { state in
      guard !state.isClosed, state.upcoming < state.failed?.seed ?? seeds.upperBound
      else { return nil }
      defer { state.upcoming += 1 }
      return state.upcoming
    }
  }

  func ended(_ seed: UInt64, _ failure: SimulationFailure?) {
    state.withLockOfProcess { state in
      state.ended += 1
      if let failure, seed < state.failed?.seed ?? .max { state.failed = (seed, failure) }
    }
  }

  /// Ends the search: `next()` returns nil from now on.
  func close() { state.withLockOfProcess { $0.isClosed = true } }

  var isOver: Bool { state.withLockOfProcess { $0.isClosed } }

  /// Whether it was closed before all seeds were run, and none of them failed.
  var isCutShort: Bool {
    state.withLockOfProcess { state in
      state.isClosed && state.failed == nil
        && UInt64(state.ended) < seeds.upperBound - seeds.lowerBound
    }
  }

  var count: Int { state.withLockOfProcess { $0.ended } }
  var firstFailure: (seed: UInt64, failure: SimulationFailure)? {
    state.withLockOfProcess { $0.failed }
  }
}
