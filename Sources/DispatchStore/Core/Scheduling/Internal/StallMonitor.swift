import Foundation
import Synchronization

/// Looks from time to time for queued work for which the system has no thread.
///
/// The monitor runs, on a thread of the library, while threads block inside the library, or started actions wait for
/// a thread of their queue. So pushing work costs nothing extra.
final class StallMonitor: Sendable {
  static let ofProcess = StallMonitor()

  private let isRunning = Atomic(false)
  /// The time, in seconds, for which a queue may leave work without a thread before threads beside it take over.
  private static let interval = 0.005
  /// The longest interval: it doubles while threads block and no work is queued, since one may block for hours.
  private static let longestInterval = 0.32
  /// The number of unnecessary checks after which the monitor stops: starting it again takes a thread.
  private static let mostIdleChecks = 20

  /// Keeps the monitor running; the caller has already written the reason for it.
  func keepRunning() {
    // Either this thread sees that the monitor has stopped, or the monitor finds the caller's write when it checks
    // again.
    guard !isRunning.load(ordering: .sequentiallyConsistent),
      !isRunning.exchange(true, ordering: .sequentiallyConsistent)
    else { return }
    HelperThreads.run { self.run() }
  }

  private func run() {
    var idleChecks = 0
    var interval = Self.interval
    while true {
      Thread.sleep(forTimeInterval: interval)
      interval =
        JobInbox.ofProcess.isEmpty && !BlockedThreads.ofProcess.hasQueuedWork
        ? min(2 * interval, Self.longestInterval) : Self.interval
      idleChecks = check() ? 0 : idleChecks + 1
      guard idleChecks > Self.mostIdleChecks else { continue }
      isRunning.store(false, ordering: .sequentiallyConsistent)
      guard check(), !isRunning.exchange(true, ordering: .sequentiallyConsistent) else { return }
      idleChecks = 0
    }
  }

  /// Checks the queues; returns whether the monitor is necessary.
  private func check() -> Bool {
    if !BlockedThreads.ofProcess.isEmpty { JobInbox.ofProcess.check() }
    return BlockedThreads.ofProcess.checkQueues()
  }
}
