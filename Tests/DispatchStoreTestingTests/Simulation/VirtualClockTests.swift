import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("Virtual clock")
struct VirtualClockTests {
  /// What sleepers note, in the order in which they wake.
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

  @Test func timeStandsStillUntilItIsAdvanced() async throws {
    let clock = VirtualClock()
    let (sleeping, isAsleep) = AsyncStream<Void>.makeStream()
    let sleeper = Task {
      isAsleep.yield()
      try await clock.sleep(for: .seconds(10))
      return clock.now.offset
    }
    for await _ in sleeping.prefix(1) {}
    while clock.sleeperCount == 0 { await Task.yield() }
    clock.advance(by: .seconds(9))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(5))
    #expect(clock.sleeperCount == 0)
    #expect(try await sleeper.value == .seconds(14))
  }

  @Test func aTimeThatHasComeIsNotWaitedFor() async throws {
    let clock = VirtualClock()
    try await clock.sleep(for: .zero)
    try await clock.sleep(until: VirtualClock.Instant(offset: .seconds(-1)))
    #expect(clock.now.offset == .zero)
  }

  @Test func aCancelledSleepThrowsAndIsForgotten() async {
    let clock = VirtualClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
    while clock.sleeperCount == 0 { await Task.yield() }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(clock.sleeperCount == 0)
  }
}
