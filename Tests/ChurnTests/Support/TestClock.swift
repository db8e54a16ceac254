import Synchronization

@testable import churn

/// A clock that goes forward when something sleeps, and by a little with each look at it.
final class TestClock: BoardClock {
  private let time = Atomic<UInt64>(1_000)

  var now: UInt64 { time.wrappingAdd(1, ordering: .relaxed).newValue }

  func sleep(_ nanoseconds: UInt64) async {
    time.wrappingAdd(nanoseconds, ordering: .relaxed)
  }
}
