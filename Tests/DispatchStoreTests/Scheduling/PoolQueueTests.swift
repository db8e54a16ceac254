import Foundation
import Synchronization
import Testing

@testable import DispatchStore

/// What the library reads of its own queue without the queue's lock.
@Suite("The library's own queue", .timeLimit(.minutes(10)))
struct PoolQueueTests {
  let queue = PoolQueue()

  /// Calls `set` on two threads at once, and after both have returned `isRight`; how often that was false.
  private func faults(
    _ set: @escaping @Sendable (_ thread: Int) -> Void, _ isRight: @escaping @Sendable () -> Bool
  ) async -> Int {
    let (meetings, faults) = (EventCount(of: .max), EventCount(of: .max))
    await onOwnThreads(2) { thread in
      /// Both threads leave it at about the same time.
      func meet(_ number: Int) {
        meetings.add()
        while meetings.count < 2 * number { sched_yield() }
      }
      for round in 0..<Load.count(2_000) {
        meet(2 * round + 1)
        // Neither is always the first.
        for _ in 0..<(round % 64) where thread == round / 64 % 2 { _ = meetings.count }
        set(thread)
        meet(2 * round + 2)
        if thread == 0, !isRight() { faults.add() }
      }
    }
    return faults.count
  }

  @Test func knowsWhetherItIsSuspendedWhereTwoThreadsSuspendAndResumeIt() async {
    let faults = await faults(
      { [queue] in queue.isSuspended = $0 == 0 },
      { [queue] in queue.isHeldBack == queue.isSuspended })
    #expect(faults == 0)
  }

  @Test func knowsItsWidthWhereTwoThreadsChangeIt() async {
    let faults = await faults(
      { [queue] in queue.maxConcurrentOperationCount = 1 + $0 },
      { [queue] in queue.width == queue.maxConcurrentOperationCount })
    #expect(faults == 0)
  }
}
