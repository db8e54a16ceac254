import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Timers of a dispatcher", .timeLimit(.minutes(10)))
struct TimerQueueTests {
  private let fired = Recorder<String>()

  private func note(_ name: String) -> @Sendable () -> Void {
    { [fired] in fired.record(name) }
  }

  private static let second: Int64 = 1_000_000_000

  @Test func fireByAVirtualClockInOrderAndNotBefore() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    _ = timers.add(at: 2 * Self.second, note("b"))
    _ = timers.add(at: Self.second, note("a"))
    let removed = timers.add(at: Self.second, note("removed"))
    timers.remove(removed)
    _ = timers.add(at: 2 * Self.second, note("c"))
    await clock.pass(.milliseconds(999))
    #expect(fired.count == 0)
    clock.advance(by: .milliseconds(1))
    #expect(await fired.first(1) == ["a"])
    clock.advance(by: .seconds(1))
    #expect(await fired.first(3) == ["a", "b", "c"])
    #expect(timers.count == 0)
  }

  @Test func fireByTheSystemsClockAlsoWhereAnEarlierOneComesLater() async {
    let clock = DispatcherClock(nil)
    let timers = TimerQueue(clock)
    let now = clock.nanoseconds
    let never = timers.add(at: now + 3_600 * Self.second, note("never"))
    _ = timers.add(at: now + 20_000_000, note("b"))
    _ = timers.add(at: now + 10_000_000, note("a"))
    _ = timers.add(at: now - 1, note("past"))
    #expect(await fired.first(3).sorted() == ["a", "b", "past"])
    #expect(clock.nanoseconds >= now + 20_000_000)
    timers.remove(never)
    #expect(timers.count == 0)
  }

  /// Two threads add timers, some of them earlier than all before, while others are due.
  @Test func fireAlsoIfEarlierOnesComeWhileOthersFire() async {
    let clock = DispatcherClock(nil)
    for number in 0..<Load.count(1_000) {
      let (timers, count) = (TimerQueue(clock), 20)
      let adding = Task.detached { [fired] in
        for index in 0..<count {
          _ = timers.add(at: clock.nanoseconds + 1_000 * Int64(index % 7)) { fired.record("x") }
        }
      }
      for index in 0..<count {
        _ = timers.add(at: clock.nanoseconds + 1_500 * Int64(count - index), note("x"))
      }
      await adding.value
      _ = await fired.first(2 * count * (number + 1))
    }
  }

  @Test func aClockThatIsEarlyIsReadAgainAfterAPause() async {
    let clock = EarlyClock()
    let timers = TimerQueue(DispatcherClock(clock))
    _ = timers.add(at: Self.second, note("due"))
    #expect(await fired.first(1) == ["due"])
    #expect(clock.sleeps.count == 2)
  }

  @Test func aTimerMayAddAndRemoveTimers() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    let fired = fired
    let other = timers.add(at: 2 * Self.second, note("other"))
    _ = timers.add(at: Self.second) {
      timers.remove(other)
      _ = timers.add(at: Self.second) { fired.record("added") }
    }
    await clock.pass(.seconds(1))
    #expect(await fired.first(1) == ["added"])
    #expect(timers.count == 0)
  }

  /// Another timer is left, for which the queue sets the next alarm.
  @Test func theTaskOfAClockIsNotCancelledWhileItFiresTimers() async {
    let clock = SleepingClock()
    let (timers, fired) = (TimerQueue(DispatcherClock(clock)), fired)
    _ = timers.add(at: Self.second) { fired.record("isCancelled: \(Task.isCancelled)") }
    _ = timers.add(at: 2 * Self.second, note("later"))
    clock.base.advance(by: .seconds(1))
    #expect(await fired.first(1) == ["isCancelled: false"])
    clock.base.advance(by: .seconds(1))
    #expect(await fired.first(2).last == "later")
    #expect(timers.count == 0)
  }

  @Test func oneTaskSleepsUntilTheNextDeadlineAndNoneWithoutTimers() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    var tokens: [TimerToken] = []
    // Each is sooner than those before.
    for seconds in (1...100).reversed() {
      tokens.append(timers.add(at: Int64(seconds) * Self.second, note("\(seconds)")))
    }
    await clock.sleeps(1)
    clock.advance(by: .seconds(1))
    #expect(await fired.first(1) == ["1"])
    await clock.waitForSleepers(atLeast: 1)
    #expect(clock.sleeperCount == 1)
    for token in tokens { timers.remove(token) }
    await clock.sleeps(0)
    // The next one sets an alarm again.
    _ = timers.add(at: 2 * Self.second, note("next"))
    await clock.sleeps(1)
    clock.advance(by: .seconds(1))
    #expect(await fired.first(2) == ["1", "next"])
  }

  @Test func noTaskSleepsForADispatcherThatIsGone() async {
    let clock = VirtualClock()
    var timers: TimerQueue? = TimerQueue(DispatcherClock(clock))
    _ = timers?.add(at: Self.second, note("never"))
    await clock.waitForSleepers(atLeast: 1)
    timers = nil
    await clock.sleeps(0)
    #expect(fired.count == 0)
  }

  @Test func anyNumberHaveOneAlarm() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    let (target, count) = (note("never"), Load.count(100_000, long: 1_000_000))
    let tokens = (0..<count).map { timers.add(at: Self.second + Int64($0), target) }
    await clock.waitForSleepers(atLeast: 1)
    #expect(timers.count == count)
    #expect(clock.sleeperCount == 1)
    for token in tokens { timers.remove(token) }
    #expect(timers.count == 0)
  }
}

extension VirtualClock {
  /// Returns once there are so many sleepers, which begin and are cancelled on other threads.
  fileprivate func sleeps(_ count: Int) async {
    while sleeperCount != count { await Task.yield() }
  }
}

/// A virtual clock that can only sleep, as most clocks of programs.
private final class SleepingClock: Clock {
  typealias Instant = VirtualClock.Instant

  let base = VirtualClock()
  var now: Instant { base.now }
  var minimumResolution: Duration { base.minimumResolution }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await base.sleep(until: deadline, tolerance: tolerance)
  }
}

/// Its sleeps end 10 ns before their time, at once.
private final class EarlyClock: Clock {
  typealias Instant = VirtualClock.Instant

  let sleeps = Recorder<Instant>()
  var minimumResolution: Duration { .nanoseconds(1) }

  var now: Instant {
    Instant(offset: sleeps.all.last.map { $0.offset - .nanoseconds(10) } ?? .zero)
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    sleeps.record(deadline)
  }
}
