private import Foundation
private import Synchronization

/// When each action of a round completed.
///
/// Each completion writes to a separate element, so that completions on several threads share nothing.
public final class Completions: @unchecked Sendable {  // because the elements are atomic
  private let times: UnsafeMutablePointer<Atomic<UInt64>>
  private let count: Int

  /// Makes room for so many.
  public init(_ count: Int) {
    self.count = count
    times = .allocate(capacity: count)
    for index in 0..<count { (times + index).initialize(to: Atomic(0)) }
  }

  deinit {
    times.deinitialize(count: count)
    times.deallocate()
  }

  /// Records that an action has completed now.
  public func record(_ index: Int) {
    times[index].store(Stopwatch.now, ordering: .relaxed)
  }

  /// Waits until all have completed, without disturbing the threads that run them.
  public func waitForAll() {
    for index in 0..<count {
      while times[index].load(ordering: .relaxed) == 0 { Thread.sleep(forTimeInterval: 0.0005) }
    }
  }

  /// How long each action took from its arrival, in nanoseconds.
  public func latencies(since start: UInt64, _ arrivals: Arrivals) -> [Double] {
    arrivals.offsets.enumerated().map { index, offset in
      Double(times[index].load(ordering: .relaxed)) - Double(start + offset)
    }
  }
}
