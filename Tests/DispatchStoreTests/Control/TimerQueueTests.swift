import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Timers of a dispatcher", .timeLimit(.minutes(30)))
struct TimerQueueTests {
  private final class Note: TimerTarget {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = body
    }

    func timerFired() { body() }
  }

  private let fired = Recorder<String>()

  private func note(_ name: String) -> Note {
    Note { [fired] in fired.record(name) }
  }

  private static let second: Int64 = 1_000_000_000

  @Test func fireByAVirtualClockInOrderAndNotBefore() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    _ = timers.add(note("b"), at: 2 * Self.second)
    _ = timers.add(note("a"), at: Self.second)
    let removed = timers.add(note("removed"), at: Self.second)
    timers.remove(removed)
    _ = timers.add(note("c"), at: 2 * Self.second)
    await clock.waitForSleepers(atLeast: 2)
    clock.advance(by: .milliseconds(999))
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
    let never = timers.add(note("never"), at: now + 3_600 * Self.second)
    _ = timers.add(note("b"), at: now + 20_000_000)
    _ = timers.add(note("a"), at: now + 10_000_000)
    _ = timers.add(note("past"), at: now - 1)
    #expect(await fired.first(3).sorted() == ["a", "b", "past"])
    #expect(clock.nanoseconds >= now + 20_000_000)
    timers.remove(never)
    #expect(timers.count == 0)
  }

  @Test func aClockThatIsEarlyIsReadAgainAfterAPause() async {
    let clock = EarlyClock()
    let timers = TimerQueue(DispatcherClock(clock))
    _ = timers.add(note("due"), at: Self.second)
    #expect(await fired.first(1) == ["due"])
    #expect(clock.sleeps.count == 2)
  }

  @Test func aTimerMayAddAndRemoveTimers() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    let fired = fired
    let other = timers.add(note("other"), at: 2 * Self.second)
    _ = timers.add(
      Note {
        timers.remove(other)
        _ = timers.add(Note { fired.record("added") }, at: Self.second)
      }, at: Self.second)
    await clock.waitForSleepers(atLeast: 2)
    clock.advance(by: .seconds(1))
    #expect(await fired.first(1) == ["added"])
    #expect(timers.count == 0)
  }

  @Test func aMillionHaveOneAlarm() async {
    let clock = VirtualClock()
    let timers = TimerQueue(DispatcherClock(clock))
    let (target, count) = (note("never"), Load.count(1_000_000))
    let tokens = (0..<count).map { timers.add(target, at: Self.second + Int64($0)) }
    await clock.waitForSleepers(atLeast: 1)
    #expect(timers.count == count)
    #expect(clock.sleeperCount == 1)
    for token in tokens { timers.remove(token) }
    #expect(timers.count == 0)
  }
}

@Suite("Distant timers", .timeLimit(.minutes(30)))
struct DistantTimerTests {
  /// Set and unset by the test.
  private final class Timer: DistantTimer, TimerTarget, @unchecked Sendable {
    // because its state is behind a lock
    private enum State { case unset, set, inHeap }

    private let state = Locked(State.unset)
    private let body: @Sendable () -> Void

    init(in queue: TimerQueue, _ body: @escaping @Sendable () -> Void) {
      self.body = body
      super.init(at: .max, in: queue)
    }

    func set(at deadline: Int64, now: Int64 = 0) {
      self.deadline = deadline
      state.withLock { $0 = .set }
      queue?.wasSet(self, now: now)
    }

    func unset() {
      let wasInHeap = state.withLock { state in
        defer { state = .unset }
        return state == .inHeap
      }
      if wasInHeap { queue?.unset(self) }
    }

    override var isSet: Bool { state.withLock { $0 == .set } }

    override func enterHeap() -> (any TimerTarget)? {
      state.withLock { state in
        guard state == .set else { return nil }
        state = .inHeap
        return self
      }
    }

    func timerFired() { body() }
  }

  /// Never set; releases itself where the queue looks at it.
  private final class Vanishing: DistantTimer, @unchecked Sendable {
    // because only the thread that looks at it releases it
    var own: Vanishing?

    override var isSet: Bool {
      withExtendedLifetime(self) { own = nil }
      return false
    }
  }

  private static let second: Int64 = 1_000_000_000
  private let clock = VirtualClock()
  private let timers: TimerQueue
  private let fired = Recorder<String>()

  init() {
    timers = TimerQueue(DispatcherClock(clock))
  }

  private func timer(_ name: String) -> Timer {
    Timer(in: timers) { [fired] in fired.record(name) }
  }

  @Test(arguments: [[1, 2, 3], [3, 2, 1], [2, 1, 3]])
  func fireByTheirDeadlinesInWhateverOrderTheyAreSet(order: [Int]) async {
    let set = order.map { (timer("\($0)"), Int64($0) * Self.second) }
    for (timer, deadline) in set { timer.set(at: deadline) }
    for seconds in 1...3 {
      clock.advance(by: .milliseconds(999))
      #expect(fired.count == seconds - 1)
      clock.advance(by: .milliseconds(1))
      #expect(await fired.first(seconds) == (1...seconds).map { "\($0)" })
    }
    withExtendedLifetime(set) {}
  }

  @Test func oneThatIsUnsetBeforeDoesNotFireAlsoFromTheHeap() async {
    let (far, near, other) = (timer("far"), timer("near"), timer("other"))
    far.set(at: 10 * Self.second)
    near.set(at: 1_000)
    #expect(timers.count == 1)
    near.unset()
    #expect(timers.count == 0)
    far.unset()
    other.set(at: 10 * Self.second + 1)
    clock.advance(by: .seconds(20))
    #expect(await fired.first(1) == ["other"])
  }

  @Test func oneIsSetAgainAndAgainWithoutPlacesInTheHeap() async {
    let timer = timer("due")
    for deadline in 1...1_000 {
      timer.set(at: Int64(deadline) * Self.second)
      timer.unset()
    }
    #expect(timers.count == 0)
    timer.set(at: 2_000 * Self.second)
    // The first alarm comes for a deadline that was taken back, and finds the present one.
    await clock.waitForSleepers(atLeast: 1)
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1_000))
    #expect(fired.count == 0)
    clock.advance(by: .seconds(1_000))
    #expect(await fired.first(1) == ["due"])
  }

  @Test func oneThatIsReleasedIsForgotten() async {
    let kept = timer("kept")
    for number in 0..<100 {
      let timer = timer("\(number)")
      timer.set(at: Self.second)
      timer.unset()
    }
    kept.set(at: 2 * Self.second)
    clock.advance(by: .seconds(2))
    #expect(await fired.first(1) == ["kept"])
  }

  @Test func oneWhoseLastReferenceTheQueueHasIsForgotten() async {
    for _ in 0..<100 {
      let vanishing = Vanishing(at: .max, in: timers)
      vanishing.own = vanishing
    }
    let (first, second) = (timer("first"), timer("second"))
    first.set(at: Self.second)
    second.set(at: 10 * Self.second)
    clock.advance(by: .seconds(1))
    #expect(await fired.first(1) == ["first"])
    clock.advance(by: .seconds(9))
    #expect(await fired.first(2) == ["first", "second"])
  }

  @Test func whatTheHeapHasIsNoLongerDistantWhereItIsRemoved() async {
    let timer = timer("once")
    timer.set(at: 1_000)
    let token = timers.remove(timer)
    #expect(token != nil)
    if let token { timers.remove(token) }
    #expect(timers.count == 0)
    #expect(timers.remove(timer) == nil)
  }

  /// Owners set and unset their timers while alarms come: each timer that stays set fires, once.
  @Test func eachOneThatStaysSetFiresOnceWhateverThreadsSetMeanwhile() async {
    let (threads, count) = (4, Load.count(2_000))
    let fired = Recorder<Int>()
    let clock = DispatcherClock(nil)
    let timers = TimerQueue(clock)
    let sets = await withTaskGroup(of: [Timer].self) { group in
      for thread in 0..<threads {
        group.addTask {
          (0..<count).map { index in
            let number = thread * count + index
            let timer = Timer(in: timers) { fired.record(number) }
            let now = clock.nanoseconds
            timer.set(at: now + Int64(index % 7) * 700_000, now: now)
            if index % 3 == 0 {
              timer.unset()
              timer.set(at: now + Int64(index % 11) * 900_000, now: now)
            }
            return timer
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    // A timer that has just fired may fire again where it was set again: `first` counts both.
    while Set(fired.all).count < threads * count { await Task.yield() }
    withExtendedLifetime(sets) {}
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
