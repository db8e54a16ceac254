import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("Virtual clock")
struct VirtualClockTests {
  /// The notes of sleepers, in the order in which they wake.
  actor Woken {
    var names: [String] = []
    func note(_ name: String) { names.append(name) }
  }

  @Test func sleepersWakeInTheOrderOfTheirTimes() async {
    let woken = Woken()
    let report = await Simulation(seed: 3).run { dispatcher in
      let clock = dispatcher.simulation!.clock
      async let late: Void = {
        try await clock.sleep(for: .seconds(3_600))
        await woken.note("late at \(clock.now.offset)")
      }()
      async let early: Void = {
        try await clock.sleep(for: .seconds(60))
        await woken.note("early at \(clock.now.offset)")
      }()
      _ = try await (late, early)
    }
    #expect(report.failure == nil)
    #expect(await woken.names == ["early at 60.0 seconds", "late at 3600.0 seconds"])
  }

  @Test func timeStaysUntilItIsAdvanced() async throws {
    let clock = VirtualClock()
    let sleeper = Task {
      try await clock.sleep(for: .seconds(10))
      return clock.now.offset
    }
    await clock.waitForSleepers(atLeast: 1)
    clock.advance(by: .seconds(9))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(5))
    #expect(clock.sleeperCount == 0)
    #expect(try await sleeper.value == .seconds(14))
  }

  /// With their deadlines in the reverse order, and in that of their calls.
  @Test(.timeLimit(.minutes(1)), arguments: [true, false])
  func aHundredThousandSleepersWakeWithoutASearchForEach(fromTheLastOn: Bool) {
    let count = Int(seeds(100_000).upperBound)
    let clock = VirtualClock()
    let alarms = (1...count).compactMap { place in
      clock.alarm(at: Int64(fromTheLastOn ? count - place + 1 : place), inPlaceOf: nil) { true }
    }
    for alarm in alarms[0..<count / 2] { clock.giveUp(alarm) }
    #expect(clock.sleeperCount == count - count / 2)
    clock.advance(by: .seconds(1))
    #expect(clock.sleeperCount == 0)
  }

  @Test func aLoopOfSleepsIsWokenAsOftenAsItsTimeHasPassed() async throws {
    let clock = VirtualClock()
    let (ticks, tick) = AsyncStream<Duration>.makeStream()
    let loop = Task {
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        tick.yield(clock.now.offset)
      }
    }
    await clock.waitForSleepers(atLeast: 1)
    var iterator = ticks.makeAsyncIterator()
    var times: [Duration] = []
    await clock.advance(by: .seconds(5)) {
      if let time = await iterator.next() { times.append(time) }
      if times.count < 3 { await clock.waitForSleepers(atLeast: 1) }
    }
    try await loop.value
    #expect(times == [.seconds(1), .seconds(2), .seconds(3)])
    #expect(clock.now.offset == .seconds(5))
  }

  @Test func itSettlesAtNoDeadlineOfADispatchThatHasEnded() async {
    let cleaning = Cleaning(defaults: .timeout(.seconds(5)))
    cleaning.start(every: .seconds(3_600), "hourly")
    let stops = await cleaning.stops(within: .seconds(3 * 3_600))
    #expect(stops == [.seconds(3_600), .seconds(7_200), .seconds(10_800)])
  }

  @Test func itSettlesAtNoDeadlineOfAScheduleThatIsCancelled() async {
    let cleaning = Cleaning()
    cleaning.start(every: .seconds(60), "cancelled")
    cleaning.start(every: .seconds(3_600), "hourly")
    cleaning.dispatcher.cancelScheduled(named: "cancelled")
    let stops = await cleaning.stops(within: .seconds(7_200))
    #expect(stops == [.seconds(3_600), .seconds(7_200)])
  }

  /// The interval that the action begins ends at 13 seconds.
  @Test func itSettlesOnlyWhereADebouncedActionBegins() async {
    let cleaning = Cleaning()
    cleaning.startDebounced(for: .seconds(5))
    cleaning.clock.advance(by: .seconds(3))
    cleaning.startDebounced(for: .seconds(5))
    #expect(await cleaning.stops(within: .seconds(20)) == [.seconds(8)])
  }

  /// The limit has all of its tokens again after a minute.
  @Test func itSettlesAtNoDeadlineOfARateLimitForWhichNothingWaits() async {
    let cleaning = Cleaning()
    let limit = RateLimit(1, per: .seconds(60))
    await cleaning.dispatcher.dispatch(Clean(), options: .rateLimited(by: limit)).ended()
    cleaning.start(every: .seconds(3_600), "hourly")
    #expect(await cleaning.stops(within: .seconds(3_700)) == [.seconds(3_600)])
  }

  private struct Clean: ActionType {}

  /// An action at a dispatcher with a clock; the end of each scheduled or debounced run is awaited.
  private struct Cleaning {
    let clock = VirtualClock()
    let dispatcher: Dispatcher
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init(defaults: DispatchOptions = []) {
      (ends, end) = AsyncStream.makeStream(of: Void.self)
      dispatcher = Dispatcher(name: "test", defaults: defaults, clock: clock)
      dispatcher.register(
        store: Store(identifier: "cleaner", model: 0) {
          Perform(Clean.self) { _, context in
            await Task.yield()
            try context.updateModel { $0 += 1 }
          }
        })
    }

    func start(every interval: Duration, _ name: String) {
      dispatcher.every(interval, name: name, perform: Clean()) { [end] _ in end.yield() }
    }

    func startDebounced(for time: Duration) {
      let handle = dispatcher.dispatch(Clean(), options: .debounced("clean", for: time))
      handle.whenEnded { [end] result in if result.isSuccess { end.yield() } }
    }

    /// Advances the clock, awaits the end of a run at each stop, and returns the times of the stops.
    func stops(within time: Duration) async -> [Duration] {
      var stops: [Duration] = []
      await clock.advance(by: time) {
        stops.append(clock.now.offset)
        for await _ in ends { break }
      }
      return stops
    }
  }

  @Test func sleepUntilAPastTimeReturnsAtOnce() async throws {
    let clock = VirtualClock()
    try await clock.sleep(for: .zero)
    try await clock.sleep(until: VirtualClock.Instant(offset: .seconds(-1)))
    #expect(clock.now.offset == .zero)
  }

  @Test func aCancelledSleepThrowsAndIsForgotten() async {
    let clock = VirtualClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
    await clock.waitForSleepers(atLeast: 1)
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test func aCancelledTaskWaitsForNoSleepers() async throws {
    let clock = VirtualClock()
    let waiting = Task { await clock.waitForSleepers(atLeast: 1) }
    waiting.cancel()
    await waiting.value
    let sleeping = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.waitForSleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    try await sleeping.value
  }

  /// Each timer is sooner than those before, so that its alarm takes the place of another one.
  @Test func theTimersOfADispatcherCountAsOneSleeperAlsoWhileTheyChange() async throws {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let mock = MockStore<Notes, Note>(
      identifier: "notes", model: Notes(), dispatcher: dispatcher, answer: .never)
    let bothSleep = Latch()
    let waiting = Task {
      await clock.waitForSleepers(atLeast: 2)
      bothSleep.open()
    }
    for seconds in (10..<20).reversed() {
      dispatcher.dispatch(action: Note.add(1), mode: .async, options: .timeout(.seconds(seconds)))
      for _ in 0..<100 { await Task.yield() }
    }
    #expect(!bothSleep.isOpen)
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    await waiting.value
    clock.advance(by: .seconds(1))
    try await sleeper.value
    withExtendedLifetime(mock) {}
  }

  @Test func sleepersOfTheSameTimeRace() async {
    let orders = Woken()
    for seed in 0..<40 {
      let woken = Woken()
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        let clock = dispatcher.simulation!.clock
        await withThrowingTaskGroup { group in
          for name in ["a", "b"] {
            group.addTask {
              try await clock.sleep(for: .seconds(1))
              await woken.note(name)
            }
          }
        }
      }
      #expect(report.failure == nil)
      await orders.note(woken.names.joined())
    }
    #expect(Set(await orders.names) == ["ab", "ba"])
  }
}
