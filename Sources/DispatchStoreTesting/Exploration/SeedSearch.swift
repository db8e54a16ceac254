import Foundation

/// The seeds that are yet to be run, and the lowest one that failed.
final class SeedSearch: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private let seeds: Range<UInt64>
  private var upcoming: UInt64
  private var ended = 0
  private var failed: UInt64?

  init(_ seeds: Range<UInt64>) {
    self.seeds = seeds
    upcoming = seeds.lowerBound
  }

  /// The next seed; nil where none is left that could be the first to fail.
  func next() -> UInt64? {
    lock.withLock {
      guard upcoming < failed ?? seeds.upperBound else { return nil }
      defer { upcoming += 1 }
      return upcoming
    }
  }

  func ended(_ seed: UInt64, isFailure: Bool) {
    lock.withLock {
      ended += 1
      if isFailure { failed = min(failed ?? seed, seed) }
    }
  }

  var count: Int { lock.withLock { ended } }
  var firstFailure: UInt64? { lock.withLock { failed } }
}
