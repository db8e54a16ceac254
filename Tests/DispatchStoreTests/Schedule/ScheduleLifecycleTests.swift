import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Schedules of a dispatcher that ends", .timeLimit(.minutes(10)))
struct ScheduleLifecycleTests {
  static let second = Duration.seconds(1)
  let scene = GateStage()

  enum End: CaseIterable {
    case close, shutDown, drain
  }

  private func end(_ end: End) async {
    switch end {
    case .close: scene.dispatcher.close()
    case .shutDown: scene.dispatcher.shutDown()
    case .drain: #expect(await scene.dispatcher.drain().isComplete)
    }
  }

  @Test(arguments: Way.all, End.allCases)
  func whatIsPendingEndsAsCancelled(_ way: Way, _ end: End) async {
    let date = scene.clock.date.addingTimeInterval(9)
    let tasks = [
      await scene.pending("1", way, .delayed(by: Self.second)),
      await scene.pending("2", way, .scheduled(at: date, name: "k")),
      await scene.pending("3", way, .scheduled(at: .distantFuture)),
    ]
    await self.end(end)
    for task in tasks { #expect(await task.value.error is CancellationError) }
    #expect(scene.log.all.sorted() == ["1 false", "2 false", "3 false"])
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Dispatcher.Mode.everyMode.filter { !$0.isSync })
  func whatIsPendingOutlivesTheDefaultTimeLimitAndTakesNoDefaultUnit(_ mode: Dispatcher.Mode) async
  {
    let (clock, limit) = (VirtualClock(), DispatchLimit(1, overflow: .reject))
    let dispatcher = Dispatcher(
      defaults: [.timeout(.seconds(5)), .limited(by: limit)],
      limits: DispatchLimits(perLane: 1, queue: DispatchLimit(1)), clock: clock)
    let counter = dispatcher.register(store: .counter("counter"))
    let week = Duration.seconds(7 * 86_400)
    let handles = (0..<2).map { _ in
      counter.dispatch(.add(1), mode: mode, options: .delayed(by: week))
    }
    #expect(limit.statistics.inFlight == 0)
    clock.advance(by: week)
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, DispatchLimit.Overflow.allCases)
  func repeatingSchedulesTakeNoDefaultUnit(
    _ mode: Dispatcher.Mode, _ overflow: DispatchLimit.Overflow
  ) async {
    let (clock, limit) = (VirtualClock(), DispatchLimit(1, overflow: overflow))
    let dispatcher = Dispatcher(
      defaults: .limited(by: limit),
      limits: DispatchLimits(perLane: 1, overflow: overflow, queue: limit), clock: clock)
    dispatcher.register(store: .counter("counter"))
    #expect(limit.enter(orWait: DispatchLimit.Wait()))
    let ends = Recorder<DispatchResult>()
    let add = CounterAction.add(1)
    dispatcher.every(Self.second, name: "k", perform: add, mode: mode) { ends.record($0) }
    for count in 1...2 {
      await clock.pass(Self.second)
      let end = await ends.first(count)[count - 1]
      #expect(end.isSuccess, "\(end)")
    }
    limit.leave()
  }

  @Test(arguments: End.allCases)
  func repeatingSchedulesStop(_ end: End) async {
    scene.dispatcher.every(Self.second, name: "k", perform: scene.runs("1"))
    await self.end(end)
    #expect(await scene.nothingRemains())
    scene.dispatcher.every(Self.second, name: "k", perform: scene.runs("2"))
    #expect(await scene.nothingRemains())
    scene.clock.advance(by: .seconds(10))
    #expect(scene.log.all.isEmpty)
  }

  @Test func onAClosedDispatcherTheFirstOneIsRefusedUnlessItIsDue() async {
    let (dispatcher, script, began) = (scene.dispatcher, scene.runs("late"), Latch())
    let results = Recorder<DispatchResult>()
    let mayGoOn = Latch()
    let outer = dispatcher.dispatch(
      Script.suspends { _ in
        began.open()
        await mayGoOn.opened()
        for time in [Self.second, .zero] {
          results.record(await dispatcher.send(script, options: .delayed(by: time)).result)
        }
      })
    await began.opened()
    dispatcher.close()
    mayGoOn.open()
    #expect(await outer.result.isSuccess)
    #expect(results.all[0].dispatchError?.code == .dispatcherClosed)
    #expect(results.all[1].isSuccess)
    #expect(await scene.nothingRemains())
  }

  @Test func aRepeatingScheduleDoesNotKeepItsDispatcher() async {
    let clock = VirtualClock()
    let isGone = Latch()
    do {
      let dispatcher = Dispatcher(clock: clock)
      let signal = Mortal(isGone)
      dispatcher.register(store: .reducing("s") { withExtendedLifetime(signal) {} })
      dispatcher.every(Self.second, name: "k", perform: Ping())
    }
    await isGone.opened()
    clock.advance(by: .seconds(10))
  }

  @Test func aPendingDispatchKeepsItsDispatcherUntilItHasRun() async {
    let (clock, log, isGone) = (VirtualClock(), scene.log, Latch())
    do {
      let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
      let signal = Mortal(isGone)
      let script = Script.runs { _ in withExtendedLifetime(signal) { log.record("ran") } }
      dispatcher.dispatch(script, options: .delayed(by: Self.second, name: "k"))
    }
    await clock.waitForSleepers(atLeast: 1)
    #expect(!isGone.isOpen)
    clock.advance(by: Self.second)
    #expect(await log.first(1) == ["ran"])
    await isGone.opened()
  }
}
