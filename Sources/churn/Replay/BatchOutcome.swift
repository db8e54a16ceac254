import Foundation

/// The outcomes of a batch of actions: how long each took, and whether one failed.
final class BatchOutcome: @unchecked Sendable {
  // Unchecked because: `failure` is only touched while `lock` is held; each action writes the latency
  // at its index only, and they are read after all actions have ended.
  private let latencies: UnsafeMutableBufferPointer<UInt64>
  private let lock = NSLock()
  private var failure: (index: Int, error: any Error)?

  init(capacity: Int) {
    latencies = .allocate(capacity: capacity)
    latencies.initialize(repeating: 0)
  }

  deinit { latencies.deallocate() }

  /// Records how long the action at an index of the batch took.
  func record(_ nanoseconds: UInt64, at index: Int) {
    latencies[index] = max(1, nanoseconds)
  }

  /// Records how the action at an index of the batch failed.
  func fail(at index: Int, _ error: any Error) {
    lock.withLock {
      if let failure, failure.index < index { return }
      failure = (index, error)
    }
  }

  /// The first action of the batch that failed, and how.
  var firstFailure: (index: Int, error: any Error)? {
    lock.withLock { failure }
  }

  /// Adds the latencies of a batch to a histogram, after all its actions have ended.
  func add(_ count: Int, to histogram: inout LatencyHistogram) {
    for index in 0..<count where latencies[index] > 0 {
      histogram.record(latencies[index])
      latencies[index] = 0
    }
  }
}
