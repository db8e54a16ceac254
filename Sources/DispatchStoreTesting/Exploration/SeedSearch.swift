import Foundation

/// The pending and running seeds of a search, and the lowest seed that failed.
final class SeedSearch: @unchecked Sendable {  // because `lock` guards its state
  private let lock = NSLock()
  private let seeds: Range<UInt64>
  private var upcoming: UInt64
  private var running: Set<UInt64> = []
  private var ended = 0
  private var failed: (seed: UInt64, failure: SimulationFailure)?
  private var isClosed = false

  init(_ seeds: Range<UInt64>) {
    self.seeds = seeds
    upcoming = seeds.lowerBound
  }

  /// Returns the next seed, or nil if no pending seed is below the lowest that failed.
  func next() -> UInt64? {
    lock.withLock {
      guard !isClosed, upcoming < failed?.seed ?? seeds.upperBound else { return nil }
      defer { upcoming += 1 }
      running.insert(upcoming)
      return upcoming
    }
  }

  func ended(_ seed: UInt64, _ failure: SimulationFailure?) {
    lock.withLock {
      ended += 1
      running.remove(seed)
      if let failure, seed < failed?.seed ?? .max { failed = (seed, failure) }
    }
  }

  /// Ends the search: `next()` returns nil from now on.
  func close() {
    lock.withLock { isClosed = true }
  }

  var isOver: Bool { lock.withLock { isClosed } }

  /// Whether it was closed before all seeds were run, and none of them failed.
  var isCutShort: Bool {
    lock.withLock {
      isClosed && failed == nil && UInt64(ended) < seeds.upperBound - seeds.lowerBound
    }
  }

  var count: Int { lock.withLock { ended } }
  var firstFailure: (seed: UInt64, failure: SimulationFailure)? { lock.withLock { failed } }
  /// The running seeds, lowest first.
  var underWay: [UInt64] { lock.withLock { running.sorted() } }
}
