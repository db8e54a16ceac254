import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Scheduled dates", .timeLimit(.minutes(10)))
struct ScheduledDateTests {
  let scene = GateStage()
  let way = Way(mode: .async, sends: false)

  @Test func ifTheDateJumpsForwardTheDispatchBeginsAtOnce() async {
    let date = scene.clock.date.addingTimeInterval(3_600)
    let task = await scene.pending("1", way, .scheduled(at: date))
    scene.clock.jump(by: .seconds(3_599))
    await scene.comeToRest()
    #expect(scene.log.all.isEmpty)
    scene.clock.jump(by: .seconds(1))
    #expect(await task.value.isSuccess)
    await scene.dispatcher.timersAreGone()
  }

  /// Looking at the date every 30 seconds would take more steps than a simulation may.
  @Test func aSimulationComesToAFarDate() async throws {
    try await explore(seeds: 0..<1) { dispatcher in
      let (stage, clock) = (dispatcher.addStage(), dispatcher.simulation!.clock)
      let date = clock.date.addingTimeInterval(30 * 86_400)
      let result = await dispatcher.send(Script.adds("1"), options: .scheduled(at: date)).result
      guard result.isSuccess, clock.date >= date else { throw StageFright() }
      withExtendedLifetime(stage) {}
    }
  }

  @Test func aJumpIsNoticedWheneverItComes() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let (stage, simulation) = (dispatcher.addStage(), dispatcher.simulation!)
      let date = simulation.clock.date.addingTimeInterval(3_600)
      simulation.startThread { simulation.clock.jump(by: .seconds(3_600)) }
      let result = await dispatcher.send(Script.adds("1"), options: .scheduled(at: date)).result
      guard result.isSuccess, simulation.clock.now.offset < .seconds(3_600) else {
        throw StageFright()
      }
      withExtendedLifetime(stage) {}
    }
  }

  @Test func ifTheDateJumpsBackTheDispatchDoesNotBeginEarly() async {
    let date = scene.clock.date.addingTimeInterval(20)
    let task = await scene.pending("1", way, .scheduled(at: date))
    scene.clock.jump(by: .seconds(-10))
    await scene.clock.pass(.seconds(20))
    await scene.comeToRest()
    #expect(scene.log.all.isEmpty && scene.clock.date < date)
    await scene.clock.pass(.seconds(10))
    #expect(await task.value.isSuccess)
  }

  @Test func aDelayIsNotAffectedByJumps() async {
    let task = await scene.pending("1", way, .delayed(by: .seconds(60)))
    scene.clock.jump(by: .seconds(3_600))
    await scene.clock.pass(.seconds(59))
    await scene.comeToRest()
    #expect(scene.log.all.isEmpty)
    scene.clock.jump(by: .seconds(-7_200))
    await scene.clock.pass(.seconds(1))
    #expect(await task.value.isSuccess)
  }

  @Test func allDatesShareOneTimer() async {
    let date = scene.clock.date.addingTimeInterval(3_600)
    for number in 0..<1_000 {
      scene.dispatcher.dispatch(
        Script.adds("x"), options: .scheduled(at: date.addingTimeInterval(Double(number % 7))))
    }
    await scene.clock.waitForSleepers(atLeast: 1)
    #expect(scene.dispatcher.timers.count == 1)
    #expect(scene.dispatcher.schedules.count == 1_000)
    await scene.dispatcher.drain()
  }

  @Test func aVirtualClockHasADateOfItsOwn() {
    #expect(VirtualClock().date == Date(timeIntervalSince1970: 1_767_225_600))
    let start = Date(timeIntervalSince1970: 1_000)
    let clock = VirtualClock(date: start)
    clock.advance(by: .seconds(5))
    #expect(clock.date == start.addingTimeInterval(5))
    clock.jump(by: .seconds(-60))
    #expect(clock.date == start.addingTimeInterval(-55))
    #expect(clock.now.offset == .seconds(5))
  }

  @Test func aClockWithoutADateCountsFromTheDispatchersCreation() async {
    let clock = Counting()
    let dispatcher = Dispatcher(clock: clock)
    let before = dispatcher.clock.unixNanoseconds
    #expect(abs(Date(unixNanoseconds: before).timeIntervalSinceNow) < 600)
    clock.elapsed.withLock { $0 = .seconds(5) }
    #expect(dispatcher.clock.unixNanoseconds - before == 5_000_000_000)
  }

  /// Its start is read once: another thread may advance the clock while a dispatcher is made.
  @Test func aClockThatIsAdvancedMeanwhileFiresTimersOnTime() {
    let clock = Advanced()
    let dispatchers = DispatcherClock(clock)
    #expect(dispatchers.nanoseconds == 1_000_000_000)
    _ = Alarm.make(dispatchers, in: nil)(1_000_000_000) { _ in false }
    #expect(clock.alarms.all == [1_000_000_000])
  }

  /// A clock with a date, which another thread advances by a second after the first reading.
  private final class Advanced: Clock, DatedClock {
    let alarms = Recorder<Int64>()
    private let isRead = Locked(false)
    var elapsedNanoseconds: Int64 {
      isRead.withLock { isRead in
        defer { isRead = true }
        return isRead ? 1_000_000_000 : 0
      }
    }
    var unixNanoseconds: Int64 { elapsedNanoseconds }
    var now: VirtualClock.Instant {
      VirtualClock.Instant(offset: .nanoseconds(elapsedNanoseconds))
    }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {}
    func alarm(
      at time: Int64, inPlaceOf former: TimerToken?, _ body: @escaping @Sendable () -> Bool
    ) -> TimerToken? {
      alarms.record(time)
      return nil
    }
    func giveUp(_ alarm: TimerToken) {}
    func add(_ observer: any DateObserver) {}
  }

  /// A clock of a program, without a date.
  private final class Counting: Clock, Sendable {
    let elapsed = Locked(Duration.zero)
    var now: VirtualClock.Instant { VirtualClock.Instant(offset: elapsed.withLock { $0 }) }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {}
  }
}
