import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Distant timers", .timeLimit(.minutes(10)))
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
    while Set(fired.all).count < threads * count { await Task.yield() }
    // One that was set again may have been about to fire then, and does so twice.
    let setOnce = fired.all.filter { $0 % count % 3 != 0 }
    #expect(setOnce.count == Set(setOnce).count)
    withExtendedLifetime(sets) {}
  }
}
