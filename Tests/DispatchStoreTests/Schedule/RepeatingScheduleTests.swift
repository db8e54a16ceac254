import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Repeating schedules", .timeLimit(.minutes(10)))
struct RepeatingScheduleTests {
  static let minute = Duration.seconds(60)
  let scene = GateStage()
  private let ends = Recorder<Duration>()

  private func start(
    _ name: String = "k", _ interval: Duration = minute, _ script: Script? = nil,
    mode: Dispatcher.Mode = .async, missed: MissedRuns = .once
  ) {
    let (ends, clock) = (ends, scene.clock)
    scene.dispatcher.every(
      interval, name: name, perform: script ?? scene.runs(name), mode: mode, missed: missed
    ) { _ in ends.record(clock.now.offset) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func itRunsEachTimeItsIntervalHasPassed(_ mode: Dispatcher.Mode) async {
    start(mode: mode)
    for number in 1...3 {
      await scene.clock.pass(Self.minute)
      #expect(await ends.first(number).last == Self.minute * number)
    }
    #expect(scene.log.all == ["runs k", "runs k", "runs k"])
  }

  @Test(arguments: [MissedRuns.once, .skip])
  func aLateRunDelaysNoOther(_ missed: MissedRuns) async {
    start(missed: missed)
    await scene.clock.pass(.seconds(100))
    _ = await ends.first(1)
    #expect(scene.dispatcher.scheduled[0].due == scene.clock.date.addingTimeInterval(20))
    await scene.clock.pass(.seconds(20))
    #expect(await ends.first(2) == [.seconds(100), .seconds(120)])
  }

  @Test func missedRunsAreMadeUpForByOne() async {
    start(missed: .once)
    await scene.clock.pass(.seconds(330))
    _ = await ends.first(1)
    await scene.clock.pass(.seconds(30))
    #expect(await ends.first(2) == [.seconds(330), .seconds(360)])
  }

  @Test func missedRunsAreSkipped() async {
    start(missed: .skip)
    await scene.clock.pass(.seconds(330))
    await scene.comeToRest()
    await scene.clock.pass(.seconds(30))
    #expect(await ends.first(1) == [.seconds(360) + .nanoseconds(1)])
  }

  @Test func aRunIsSkippedWhileTheFormerOneGoesOn() async {
    let (log, mayEnd) = (scene.log, Latch())
    start(
      "k", Self.minute,
      .suspends { _ in
        log.record("begins")
        await mayEnd.opened()
      })
    await scene.clock.pass(Self.minute)
    _ = await log.first(1)
    for _ in 0..<3 {
      await scene.clock.pass(Self.minute)
      await scene.comeToRest()
    }
    start("k", Self.minute)
    await scene.clock.pass(Self.minute)
    await scene.comeToRest()
    #expect(log.all == ["begins"], "It is not beside one of a former schedule of its name either.")
    mayEnd.open()
    _ = await ends.first(1)
    await scene.clock.pass(Self.minute)
    _ = await ends.first(2)
    #expect(log.all == ["begins", "runs k"])
  }

  @Test func aRunThatHasTimedOutGoesOnUntilItsStoresHaveEnded() async {
    let (clock, log, mayEnd, isOver) = (VirtualClock(), scene.log, Latch(), Latch())
    let dispatcher = Dispatcher(defaults: .timeout(.seconds(10)), clock: clock)
    dispatcher.addStage()
    let results = Recorder<DispatchError.Code?>()
    let script = Script.suspends { _ in
      log.record("begins")
      await mayEnd.opened()
      isOver.open()
    }
    dispatcher.every(Self.minute, name: "k", perform: script) {
      results.record($0.dispatchError?.code)
    }
    await clock.pass(Self.minute)
    _ = await log.first(1)
    await dispatcher.timersAreSet(2)
    await clock.pass(.seconds(10))
    #expect(await results.first(1) == [.timedOut])
    await clock.pass(.seconds(50))
    let next = dispatcher.dispatch(
      Script.adds("x"), options: DispatchOptions.delayed(by: .nanoseconds(1)))
    await clock.pass(.nanoseconds(1))
    #expect(await next.result.isSuccess)
    #expect(log.all == ["begins"])
    mayEnd.open()
    await isOver.opened()
  }

  @Test func anotherOneOfItsNameReplacesIt() async {
    start("k", Self.minute, scene.runs("old"))
    start("k", .seconds(90), scene.runs("new"))
    await scene.clock.pass(.seconds(90))
    _ = await ends.first(1)
    #expect(scene.log.all == ["runs new"])
    let handle = scene.dispatcher.dispatch(
      scene.runs("once"), options: .delayed(by: .seconds(90), name: "k"))
    #expect(scene.dispatcher.scheduled.map(\.interval) == [nil])
    start("k", .seconds(90), scene.runs("again"))
    #expect(await handle.result.dispatchError?.code == .skipped)
    await scene.clock.pass(.seconds(90))
    _ = await ends.first(2)
    #expect(scene.log.all == ["runs new", "runs again"])
  }

  @Test func itIsCancelledByItsName() async {
    start()
    await scene.clock.pass(Self.minute)
    _ = await ends.first(1)
    #expect(scene.dispatcher.cancelScheduled(named: "k"))
    #expect(!scene.dispatcher.cancelScheduled(named: "k"))
    #expect(await scene.nothingRemains())
    scene.clock.advance(by: .seconds(600))
    #expect(scene.log.all == ["runs k"])
  }

  @Test func aFailedRunStopsNothing() async {
    start("k", Self.minute, .runs { _ in throw StageFright() })
    await scene.clock.pass(Self.minute)
    _ = await ends.first(1)
    await scene.clock.pass(Self.minute)
    #expect(await ends.first(2).count == 2)
  }

  @Test func inAYearEveryHourRunsOnce() async {
    let counter = scene.dispatcher.register(store: CounterStore.counter("counter"))
    let (ends, clock) = (ends, scene.clock)
    scene.dispatcher.every(.seconds(3_600), name: "hourly", perform: CounterAction.add(1)) { _ in
      ends.record(clock.now.offset)
    }
    await clock.waitForSleepers(atLeast: 1)
    var count = 0
    await clock.advance(by: .seconds(8_760 * 3_600)) {
      count += 1
      _ = await ends.first(count)
      await clock.waitForSleepers(atLeast: 1)
    }
    #expect(counter.model.count == 8_760)
    #expect(ends.all.last == .seconds(8_760 * 3_600))
  }

  @Test func anIntervalOfZeroStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Dispatcher(name: "shop").every(.zero, name: "sweep", perform: CounterAction.add(1))
    }
    #expect(result.message.contains("Dispatcher \"shop\""))
    #expect(result.message.contains("as \"sweep\""))
    #expect(result.message.contains("Pass an interval"))
  }
}
