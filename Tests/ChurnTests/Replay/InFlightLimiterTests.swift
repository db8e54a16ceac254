import Foundation
import Synchronization
import Testing

@testable import churn

/// The limit on actions in flight.
@Suite struct InFlightLimiterTests {
  @Test(arguments: [1, 2, 3, 64])
  func neverLetsMoreThanItsLimitStart(limit: Int) {
    let limiter = InFlightLimiter(limit: limit)
    let unfinished = Atomic(0)
    let most = Atomic(0)
    let workers = DispatchQueue(label: "workers", attributes: .concurrent)

    for _ in 0..<2000 {
      limiter.acquire()
      most.max(unfinished.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      workers.async {
        unfinished.subtract(1, ordering: .relaxed)
        limiter.release()
      }
    }
    limiter.waitUntilIdle()

    #expect(most.load(ordering: .relaxed) <= limit)
    #expect(unfinished.load(ordering: .relaxed) == 0)
  }

  @Test func holdsBackSeveralThreadsAndLosesNone() {
    let limiter = InFlightLimiter(limit: 2)
    let ended = Atomic(0)
    let workers = DispatchQueue(label: "workers", attributes: .concurrent)

    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<500 {
        limiter.acquire()
        workers.async {
          ended.add(1, ordering: .relaxed)
          limiter.release()
        }
      }
    }
    limiter.waitUntilIdle()

    #expect(ended.load(ordering: .relaxed) == 2000)
  }

  @Test func idleAtOnceWhenNothingWasStarted() {
    InFlightLimiter(limit: 1).waitUntilIdle()
  }
}
