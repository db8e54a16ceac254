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

  /// Takes note of the end of the action at a place of the batch.
  func record(_ nanoseconds: UInt64, at place: Int, _ error: (any Error)?) {
    latencies[place] = nanoseconds
    guard let error else { return }
    lock.withLock {
      if let failure, failure.place < place { return }
      failure = (place, error)
    }
  }

  /// The first action of the batch that failed, and how.
  var firstFailure: (place: Int, error: any Error)? {
    lock.withLock { failure }
  }

  /// Counts the latencies of the batch's actions, none of which is left.
  func add(_ count: Int, to histogram: inout LatencyHistogram) {
    for latency in latencies.prefix(count) { histogram.record(latency) }
  }
}
