import Benchmark
import CCounters

/// The objects that some actions allocated, and their retains, in all threads.
struct Counts {
  static let metrics: [BenchmarkMetric] = can_count() ? [allocations, retains] : []
  private static let allocations = BenchmarkMetric.custom("Object allocations")
  private static let retains = BenchmarkMetric.custom("Retains")

  private let allocations: Int
  private let retains: Int

  /// Counts what `body` does.
  init(_ body: () -> Void) {
    self.init(Self.begin(), body())
  }

  /// Counts what `body` does.
  init(_ body: () async -> Void) async {
    self.init(Self.begin(), await body())
  }

  private init(_ before: (allocations: Int, retains: Int), _: Void) {
    set_counting(false)
    allocations = Int(counted_allocations()) - before.allocations
    retains = Int(counted_retains()) - before.retains
  }

  private static func begin() -> (allocations: Int, retains: Int) {
    set_counting(true)
    return (Int(counted_allocations()), Int(counted_retains()))
  }

  /// Adds them to an iteration of the benchmark.
  func report(to benchmark: Benchmark) {
    guard can_count() else { return }
    benchmark.measurement(Self.allocations, allocations)
    benchmark.measurement(Self.retains, retains)
  }
}
