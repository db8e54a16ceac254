import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Scheduled dispatches", .timeLimit(.minutes(10)))
struct ScheduledDispatchTests {
  static let second = Duration.seconds(1)
  let scene = GateStage()

  @Test(arguments: Way.all, [false, true])
  func aDispatchBeginsAfterItsDelayOrAtItsDate(_ way: Way, hasDate: Bool) async {
    scene.dispatcher.register(middleware: RecordingMiddleware("m", to: scene.log))
    let date = scene.clock.date.addingTimeInterval(1)
    let task = await scene.pending(
      "1", way, hasDate ? .scheduled(at: date) : .delayed(by: Self.second))
    await scene.clock.pass(.milliseconds(999))
    await scene.comeToRest()
    #expect(scene.log.all.isEmpty)
    await scene.clock.pass(.milliseconds(1))
    #expect(await task.value.isSuccess)
    #expect(scene.log.all == ["m will stage", "runs 1", "m did stage", "1 true"])
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Way.all)
  func whatIsPastBeginsAtOnce(_ way: Way) async {
    let past: [DispatchOptions] = [
      .delayed(by: .zero), .delayed(by: .seconds(-1)), .delayed(by: .seconds(Int64.min)),
      .scheduled(at: scene.clock.date), .scheduled(at: .distantPast),
      .scheduled(at: Date(timeIntervalSince1970: -.infinity)),
    ]
    for options in past {
      #expect(await scene.begin("1", way, options).value.isSuccess)
    }
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Way.all)
  func theEndOfTimeNeverComes(_ way: Way) async {
    let never: [DispatchOptions] = [
      .delayed(by: .seconds(Int64.max)), .delayed(by: .nanoseconds(Int64.max)),
      .scheduled(at: .distantFuture), .scheduled(at: Date(timeIntervalSince1970: .infinity)),
      .scheduled(at: Date(timeIntervalSince1970: .nan)),
    ]
    var tasks: [Task<DispatchResult, Never>] = []
    for (number, options) in never.enumerated() {
      tasks.append(await scene.pending("\(number)", way, [options, .named("never")]))
    }
    #expect(scene.dispatcher.scheduled.allSatisfy { $0.due == .distantFuture })
    scene.clock.advance(by: .seconds(1_000_000_000))
    await scene.comeToRest()
    #expect(scene.dispatcher.scheduled.count == never.count)
    #expect(scene.dispatcher.cancel(named: "never") == never.count)
    for task in tasks { #expect(await task.value.error is CancellationError) }
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Way.all)
  func aNewOneOfItsNameReplacesIt(_ way: Way) async {
    let first = await scene.pending("1", way, .delayed(by: Self.second, name: "k"))
    let date = scene.clock.date.addingTimeInterval(5)
    let second = await scene.pending("2", way, .scheduled(at: date, name: "k"))
    let skipped = await first.value
    #expect(skipped.dispatchError?.code == .skipped)
    #expect(skipped.dispatchError?.message.contains("scheduled as \"k\"") == true)
    #expect(skipped.dispatchError?.callSites.count == 2)
    #expect(scene.names == ["k"])
    let third = scene.begin("3", way, .delayed(by: .zero, name: "k"))
    #expect(await third.value.isSuccess, "One that begins at once replaces a pending one, too.")
    #expect(await second.value.dispatchError?.code == .skipped)
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func oneForAStoreThatIsNotThereIsRefusedAtTheCall(_ mode: Dispatcher.Mode, hasDate: Bool) async {
    let date = scene.clock.date.addingTimeInterval(1)
    let limit = DispatchLimit(1, overflow: .reject)
    let handle = scene.dispatcher.dispatch(
      scene.runs("1"), to: "absent", mode: mode,
      options: [
        hasDate ? .scheduled(at: date, name: "k") : .delayed(by: Self.second, name: "k"),
        .limited(by: limit),
      ])
    #expect(handle.resultIfEnded?.dispatchError?.code == .unknownStore)
    #expect(scene.names.isEmpty && limit.statistics.inFlight == 0)
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Way.all)
  func itIsCancelledByName(_ way: Way) async {
    let first = await scene.pending("1", way, .delayed(by: Self.second, name: "k"))
    let second = await scene.pending(
      "2", way, [.delayed(by: Self.second), .named("found"), .timeout(.seconds(60))])
    #expect(scene.dispatcher.cancelScheduled(named: "k"))
    #expect(!scene.dispatcher.cancelScheduled(named: "k"))
    #expect(scene.dispatcher.cancel(named: "found") == 1)
    for task in [first, second] { #expect(await task.value.error is CancellationError) }
    #expect(scene.log.all.filter { $0.hasPrefix("runs") }.isEmpty)
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func itIsCancelledByItsHandle(_ mode: Dispatcher.Mode) async {
    let handle = scene.dispatcher.dispatch(
      scene.runs("1"), mode: mode, options: .delayed(by: Self.second, name: "k"))
    handle.cancel()
    #expect(scene.dispatcher.scheduled.isEmpty)
    #expect(await handle.result.error is CancellationError)
    #expect(!scene.dispatcher.cancelScheduled(named: "k"))
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Way.all.filter(\.sends))
  func itIsCancelledWithItsTask(_ way: Way) async {
    let task = await scene.pending("1", way, .scheduled(at: .distantFuture))
    task.cancel()
    #expect(await task.value.error is CancellationError)
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: Way.all)
  func itsTimeLimitCountsFromTheCall(_ way: Way) async {
    let task = await scene.pending(
      "1", way, [.delayed(by: .seconds(5)), .timeout(Self.second)])
    await scene.clock.pass(Self.second)
    #expect(await task.value.dispatchError?.code == .timedOut)
    #expect(await scene.nothingRemains())
  }

  @Test(arguments: [false, true])
  func itsDelayCountsFromTheCallIfItWaitsForAUnit(sends: Bool) async {
    let (dispatcher, script) = (scene.dispatcher, scene.runs("1"))
    let limit = DispatchLimit(1, overflow: .wait)
    #expect(limit.enter(orWait: DispatchLimit.Wait()))
    let options: DispatchOptions = [.limited(by: limit), .delayed(by: .seconds(10))]
    let task = Task {
      if sends { return await dispatcher.send(script, options: options).result }
      return await onOwnThread { dispatcher.dispatch(script, options: options) }.result
    }
    while limit.statistics.waiting == 0 { await Task.yield() }
    scene.clock.advance(by: .seconds(6))
    limit.leave()
    while dispatcher.scheduled.isEmpty { await Task.yield() }
    await scene.clock.pass(.seconds(4))
    #expect(await task.value.isSuccess)
    #expect(await scene.nothingRemains())
  }

  @Test func aListBeginsAsAWhole() async {
    let actions: [AnyAction] = [scene.runs("1"), scene.runs("2")]
    let handle = scene.dispatcher.dispatch(
      actions: actions, options: .delayed(by: Self.second, name: "both"))
    #expect(scene.dispatcher.scheduled[0].actions.count == 2)
    await scene.clock.pass(Self.second)
    #expect(await handle.result.isSuccess)
    #expect(scene.log.all == ["runs 1", "runs 2"])
  }

  @Test func theyAreListedInTheOrderOfTheirTimes() async {
    let (dispatcher, date) = (scene.dispatcher, scene.clock.date)
    dispatcher.every(.seconds(40), name: "repeated", perform: scene.runs("0"), to: "stage")
    dispatcher.dispatch(
      scene.runs("1"), mode: .serial, options: .delayed(by: .seconds(30), name: "later"))
    dispatcher.dispatch(
      scene.runs("2"), to: "stage", options: .scheduled(at: date.addingTimeInterval(20)))
    let all = dispatcher.scheduled
    #expect(all.map(\.name) == [nil, "later", "repeated"])
    #expect(all.map { $0.due.timeIntervalSince(date).rounded() } == [20, 30, 40])
    #expect(all.map(\.interval) == [nil, nil, .seconds(40)])
    #expect(all.map(\.storeIdentifier) == ["stage", nil, "stage"])
    #expect(all.map(\.mode) == [.async, .serial, .async])
    #expect(all.map { "\($0.actions[0])" } == ["2", "1", "0"])
  }

  @Test func oneMadeInAnExclusiveSectionBeginsLater() async {
    let (dispatcher, script) = (scene.dispatcher, scene.runs("1"))
    let handles = Recorder<DispatchHandle>()
    scene.stage.updateModel { _ in
      for _ in 0..<2 {
        handles.record(
          dispatcher.dispatch(
            script, mode: .serial, options: .delayed(by: Self.second, name: "k")))
      }
    }
    #expect(await handles.all[0].result.dispatchError?.code == .skipped)
    await scene.clock.pass(Self.second)
    #expect(await handles.all[1].result.isSuccess)
    #expect(scene.log.all == ["runs 1"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func aHookMayWaitForAnotherOneOfItsLane(_ mode: Dispatcher.Mode, isDebounced: Bool) async {
    let (dispatcher, second) = (scene.dispatcher, scene.runs("2"))
    let options: @Sendable (String) -> DispatchOptions = { key in
      isDebounced ? .debounced(key, for: Self.second) : .delayed(by: Self.second)
    }
    let isMade = Latch()
    let middleware = RecordingMiddleware(will: { _, action, _ in
      if "\(action)" == "1" {
        let handle = dispatcher.dispatch(second, mode: mode, options: options("second"))
        isMade.open()
        handle.wait()
      }
      return .pass
    })
    dispatcher.register(middleware: middleware)
    let first = dispatcher.dispatch(scene.runs("1"), mode: mode, options: options("first"))
    await scene.clock.pass(Self.second)
    await isMade.opened()
    await scene.clock.pass(Self.second)
    #expect(await first.result.isSuccess)
    #expect(scene.log.all == ["runs 2", "runs 1"])
    // The line of a key ends with its interval.
    scene.clock.advance(by: Self.second)
    #expect(await scene.nothingRemains())
  }

  @Test func withSyncATasksThreadIsNotBlocked() {
    let handle = scene.dispatcher.dispatch(
      scene.runs("1"), mode: .sync, options: .delayed(by: Self.second))
    #expect(handle.resultIfEnded?.dispatchError?.code == .wouldDeadlock)
    #expect(scene.dispatcher.scheduled.isEmpty)
  }

  @Test func theLastOptionThatDelaysCounts() async {
    let handle = scene.dispatcher.dispatch(
      scene.runs("1"), options: [.debounced("k", for: .seconds(9)), .delayed(by: Self.second)])
    #expect(scene.dispatcher.scheduled.count == 1)
    await scene.clock.pass(Self.second)
    #expect(await handle.result.isSuccess)
  }

  @Test func byTheSystemsClockTheyBegin() async {
    let (dispatcher, _) = makeStage()
    let began = ContinuousClock.now
    let first = dispatcher.dispatch(scene.runs("1"), options: .delayed(by: .milliseconds(20)))
    let second = dispatcher.dispatch(
      scene.runs("2"), options: .scheduled(at: .now.addingTimeInterval(0.02)))
    #expect(await first.result.isSuccess)
    #expect(await second.result.isSuccess)
    #expect(ContinuousClock.now - began >= .milliseconds(19))
  }
}
