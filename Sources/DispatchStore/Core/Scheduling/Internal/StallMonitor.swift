import Foundation
import Synchronization

/// Looks from time to time for queued work for which the system has no thread.
///
/// It runs, on a thread of the library, while threads block inside the library, or actions that were started
/// wait for a thread of their queue. So those that push work pay nothing for it.
final class StallMonitor: Sendable {
  static let ofProcess = StallMonitor()

  private let isRunning = Atomic(false)
  /// For so long, in seconds, a queue may leave work without a thread, before threads beside it take over.
  private static let interval = 0.005
  /// While threads block, and no work is queued, the interval doubles up to this: one may block for hours.
  private static let longestInterval = 0.32
  /// After so many checks without need the monitor stops: starting it again takes a thread.
  private static let mostIdleChecks = 20

  /// The caller has written what makes the monitor necessary.
  func keepRunning() {
    // Either this thread sees that it has stopped, or it finds what the caller wrote when it checks once more.
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

  /// Whether the monitor is necessary.
  private func check() -> Bool {
    if !BlockedThreads.ofProcess.isEmpty { JobInbox.ofProcess.check() }
    return BlockedThreads.ofProcess.checkQueues()
  }
}
