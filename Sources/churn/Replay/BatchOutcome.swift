import Foundation

/// What became of the actions of a batch: how long each took, and whether one failed.
final class BatchOutcome: @unchecked Sendable {
  // Unchecked because: `failure` is only touched while `lock` is held; each action writes the latency
  // at its own place, and they are read when no action is left.
  private let latencies: UnsafeMutableBufferPointer<UInt64>
  private let lock = NSLock()
  private var failure: (place: Int, error: any Error)?

  init(capacity: Int) {
    latencies = .allocate(capacity: capacity)
    latencies.initialize(repeating: 0)
  }

  deinit { latencies.deallocate() }

  /// Takes note of how long the action at a place of the batch took.
  func record(_ nanoseconds: UInt64, at place: Int) {
    latencies[place] = max(1, nanoseconds)
  }

  /// Takes note of how the action at a place of the batch failed.
  func fail(at place: Int, _ error: any Error) {
    lock.withLock {
      if let failure, failure.place < place { return }
      failure = (place, error)
    }
  }

  /// The first action of the batch that failed, and how.
  var firstFailure: (place: Int, error: any Error)? {
    lock.withLock { failure }
  }

  /// Counts the latencies that were measured in the batch, of whose actions none is left.
  func add(_ count: Int, to histogram: inout LatencyHistogram) {
    for place in 0..<count where latencies[place] > 0 {
      histogram.record(latencies[place])
      latencies[place] = 0
    }
  }
}
