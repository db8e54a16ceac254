import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Rates", .timeLimit(.minutes(10)))
struct RateTests {
  static let second = Duration.seconds(1)

  var (clock, dispatcher, stage) = makeClockedStage()
  let log = Recorder<String>()

  private func runs(_ name: String) -> Script {
    .runs(name) { [log] _ in log.record("runs \(name)") }
  }

  private func run(
    _ name: String, _ way: Way, _ options: DispatchOptions
  ) -> Task<DispatchResult, Never> {
    dispatcher.begin(runs(name), way.mode, options, sends: way.sends) { [log] in
      log.record("\(name) \($0.dispatchError?.code.description ?? "\($0.isSuccess)")")
    }
  }

  /// The same for one that is delayed: returns once it can be found and cancelled.
  private func delayed(
    _ name: String, _ way: Way, _ options: DispatchOptions
  ) async -> Task<DispatchResult, Never> {
    let free = Latch()
    let marker = dispatcher.dispatch(
      action: Script.suspends { _ in
        await free.openedOrCancelled()
      }, options: .cancelsPrevious("before \(name)"))
    let task = run(name, way, [options, .cancelsPrevious("before \(name)")])
    await marker.ended()
    return task
  }

  /// Lets ten seconds pass, and returns once all timers of that time have fired.
  private func comeToRest() async {
    let rest = Latch()
    let end = dispatcher.clock.nanoseconds + 10_000_000_000
    _ = dispatcher.timers.add(at: end) { rest.open() }
    await clock.pass(.seconds(10))
    await rest.opened()
  }

  // MARK: Debounce

  @Test(arguments: Way.all)
  func ofABurstTheLastOneBeginsOnceItsTimeHasPassed(_ way: Way) async {
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let options = DispatchOptions.debounced("search", for: Self.second)
    let first = run("1", way, options)
    await clock.pass(.milliseconds(400))
    let second = run("2", way, options)
    let skipped = await first.value
    #expect(skipped.dispatchError?.code == .skipped)
    #expect(skipped.dispatchError?.callSites.count == 2)
    #expect(skipped["stage"].isCancelled == true)
    await clock.pass(.milliseconds(600))
    await clock.pass(.milliseconds(399))
    #expect(log.all == ["1 skipped"])
    clock.advance(by: .milliseconds(1))
    #expect(await second.value.isSuccess)
    #expect(log.all == ["1 skipped", "m will stage", "runs 2", "m did stage", "2 true"])
    #expect(dispatcher.delayedDispatches.count == 0)
  }

  @Test(arguments: Way.all)
  func aSingleOneBeginsAfterItsTime(_ way: Way) async {
    let task = await delayed("1", way, .debounced(1, for: Self.second))
    let other = await delayed("other", way, .debounced(1.0, for: .seconds(2)))
    await comeToRest()
    #expect(await task.value.isSuccess)
    #expect(await other.value.isSuccess)
    #expect(Set(log.all) == ["runs 1", "1 true", "runs other", "other true"])
  }

  @Test func anEndlessBurstHasItsTurn() async {
    let way = Way(mode: .async, sends: false)
    var tasks: [Task<DispatchResult, Never>] = []
    for number in 0..<6 {
      tasks.append(
        run("\(number)", way, .debounced("k", for: Self.second, atMost: .milliseconds(1_800))))
      await clock.pass(.milliseconds(400))
    }
    #expect(await tasks[4].value.isSuccess, "It came at 1.6 s.")
    for task in tasks[0..<4] { #expect(await task.value.dispatchError?.code == .skipped) }
    await comeToRest()
    #expect(await tasks[5].value.isSuccess)
  }

  @Test(arguments: Way.all)
  func theFirstOfABurstBeginsAtTheLeadingEdge(_ way: Way) async {
    let options = DispatchOptions.debounced("k", for: Self.second, edges: .both)
    #expect(await run("1", way, options).value.isSuccess)
    let second = await delayed("2", way, options)
    #expect(log.all == ["runs 1", "1 true"])
    await comeToRest()
    #expect(await second.value.isSuccess)
  }

  @Test(arguments: Way.all)
  func withAPeriodOfZeroItBeginsAtOnce(_ way: Way) async {
    #expect(await run("1", way, .debounced("k", for: .zero)).value.isSuccess)
    #expect(await run("2", way, .throttled("k", per: .seconds(-1))).value.isSuccess)
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: Way.all)
  func ofSeveralRatesTheLastOneCountsAlsoWithAPeriodOfZero(_ way: Way) async {
    let debounced = DispatchOptions.debounced("k", for: Self.second)
    let all: [DispatchOptions] = [
      [debounced, .debounced("k", for: .zero)],
      [debounced, [.throttled("k", per: .zero), .named("n")]],
    ]
    for options in all { #expect(await run("1", way, options).value.isSuccess) }
    #expect(clock.sleeperCount == 0)
    let last = await delayed("2", way, [.debounced("k", for: .zero), debounced])
    await clock.pass(Self.second)
    #expect(await last.value.isSuccess)
  }

  // MARK: Throttle

  @Test(arguments: Way.all)
  func leadingTheFirstOfAnIntervalBegins(_ way: Way) async {
    let options = DispatchOptions.throttled("k", per: Self.second)
    #expect(await run("1", way, options).value.isSuccess)
    let second = await run("2", way, options).value
    #expect(second.dispatchError?.code == .skipped)
    #expect(second.dispatchError?.message.contains("RateTests.swift") == true)
    await clock.pass(.milliseconds(999))
    #expect(await run("3", way, options).value.dispatchError?.code == .skipped)
    clock.advance(by: .milliseconds(1))
    #expect(await run("4", way, options).value.isSuccess)
    #expect(await run("other", way, .throttled("other", per: Self.second)).value.isSuccess)
    #expect(log.all.filter { $0.hasPrefix("runs") } == ["runs 1", "runs 4", "runs other"])
  }

  @Test(arguments: Way.all)
  func trailingTheLastOfAnIntervalBeginsAtItsEnd(_ way: Way) async {
    let options = DispatchOptions.throttled("k", per: Self.second, edges: .trailing)
    let first = run("1", way, options)
    await clock.pass(.milliseconds(600))
    let second = run("2", way, options)
    #expect(await first.value.dispatchError?.code == .skipped)
    await clock.pass(.milliseconds(399))
    #expect(log.all == ["1 skipped"])
    clock.advance(by: .milliseconds(1))
    #expect(await second.value.isSuccess)
    // A new interval has begun.
    await clock.pass(.milliseconds(500))
    let third = await delayed("3", way, options)
    await clock.pass(.milliseconds(500))
    #expect(await third.value.isSuccess)
    #expect(clock.now.offset == .seconds(2))
  }

  @Test(arguments: Way.all)
  func bothTheFirstAndTheLastBegin(_ way: Way) async {
    let options = DispatchOptions.throttled("k", per: Self.second, edges: .both)
    #expect(await run("1", way, options).value.isSuccess)
    let second = await delayed("2", way, options)
    let third = run("3", way, options)
    #expect(await second.value.dispatchError?.code == .skipped)
    await clock.pass(Self.second)
    #expect(await third.value.isSuccess)
    #expect(log.all.filter { $0.hasPrefix("runs") } == ["runs 1", "runs 3"])
  }

  // MARK: What ends it before

  @Test(arguments: Way.all)
  func cancellingItByNameEndsItAtOnce(_ way: Way) async {
    let task = await delayed("1", way, [.debounced("k", for: Self.second), .named("job")])
    #expect(dispatcher.cancel(named: "job") == 1)
    let result = await task.value
    #expect(result.error is CancellationError)
    #expect(result["stage"].wasCancelled(afterItsStart: false), "\(result)")
    #expect(dispatcher.dispatches(named: "job").isEmpty)
    await comeToRest()
    #expect(log.all == ["1 false"])
    while dispatcher.controlTables.debounces.count > 0 { await Task.yield() }
  }

  /// Or at the instant itself.
  @Test(arguments: Way.all, [Duration.seconds(2), second])
  func aDeadlineThatComesSoonerTimesItOut(_ way: Way, period: Duration) async {
    let task = run("1", way, [.debounced("k", for: period), .timeout(Self.second)])
    // One for each.
    await dispatcher.timersAreSet(2)
    clock.advance(by: Self.second)
    let result = await task.value
    #expect(result.dispatchError?.code == .timedOut)
    #expect(result.dispatchError?.timeLimit == Self.second)
    await comeToRest()
    #expect(log.all == ["1 timedOut"])
  }

  /// The completion dispatches the next one after the interval's end.
  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func theIntervalOfOneThatIsCancelledIsEmptyInItsCompletion(
    mode: Dispatcher.Mode, isThrottled: Bool
  ) async {
    let options: DispatchOptions =
      isThrottled
      ? .throttled("k", per: Self.second, edges: .both)
      : .debounced("k", for: Self.second, edges: .both)
    #expect(await run("1", Way(mode: mode, sends: false), options).value.isSuccess)
    let (clock, dispatcher, isDelayed) = (clock, dispatcher, Recorder<Bool>())
    let action = runs("3")
    let second = dispatcher.dispatch(runs("2"), mode: mode, options: options) { _ in
      clock.advance(by: Self.second)
      let third = dispatcher.dispatch(action, mode: mode, options: options)
      isDelayed.record(third.dispatch?.details?.withState(\.isDelayed) == true)
      third.cancel()
    }
    second.cancel()
    #expect(await isDelayed.first(1) == [false])
    #expect(await dispatcher.drain().isComplete)
  }

  @Test func cancellingTheTaskThatSendsEndsIt() async {
    for mode in Dispatcher.Mode.queuedModes {
      let task = await delayed(
        "1", Way(mode: mode, sends: true), .debounced("k", for: Self.second))
      task.cancel()
      #expect(await task.value.error is CancellationError)
    }
    #expect(log.all.allSatisfy { $0 == "1 false" })
  }

  /// The latest cancels the older one while that is delayed, and is delayed itself.
  @Test func aNewerOneOfALatestKeyCancelsIt() async {
    let way = Way(mode: .async, sends: false)
    let first = run("1", way, [.debounced("a", for: Self.second), .cancelsPrevious("k")])
    let second = run("2", way, [.debounced("b", for: Self.second), .cancelsPrevious("k")])
    #expect(await first.value.error is CancellationError)
    await comeToRest()
    #expect(await second.value.isSuccess)
  }

  // MARK: When it begins

  @Test(arguments: Way.all)
  func itIsTakenToTheStoresThatAreThereThen(_ way: Way) async {
    let task = await delayed("1", way, .debounced("k", for: Self.second))
    dispatcher.addStage("later")
    dispatcher.unregister(store: stage)
    await clock.pass(Self.second)
    let result = await task.value
    #expect(result.stores.map(\.storeIdentifier) == ["later"])
    #expect(result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func itHoldsNoPlaceInItsLane(_ mode: Dispatcher.Mode, sends: Bool) async {
    let way = Way(mode: mode, sends: sends)
    let task = run("1", way, .debounced("k", for: Self.second))
    await clock.waitForSleepers(atLeast: 1)
    #expect(await run("2", way, DispatchOptions()).value.isSuccess)
    let free = Latch()
    let holder = dispatcher.dispatch(
      action: Script.suspends { _ in await free.opened() }, mode: mode)
    await clock.pass(Self.second)
    free.open()
    await holder.ended()
    #expect(await task.value.isSuccess)
    #expect(log.all == ["runs 2", "2 true", "runs 1", "1 true"])
    #expect(dispatcher.laneCount <= 1)
  }

  @Test(arguments: Way.all)
  func whatAfterNamesIsWaitedFor(_ way: Way) async {
    let free = Latch()
    let before = dispatcher.dispatch(
      action: Script.suspends { [log] _ in
        await free.opened()
        log.record("before")
      })
    let task = run(
      "1", way, [.after(before), .debounced("k", for: Self.second)] as DispatchOptions)
    await clock.pass(Self.second)
    free.open()
    #expect(await task.value.isSuccess)
    #expect(log.all == ["before", "runs 1", "1 true"])
  }

  @Test func aSuspendedQueueHoldsItsStartBackAndNotItsHooks() async {
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    dispatcher.queue.isSuspended = true
    let tasks = [Dispatcher.Mode.async, .serial].map { mode in
      run("\(mode)", Way(mode: mode, sends: false), .debounced("\(mode)", for: Self.second))
    }
    await comeToRest()
    #expect(await log.first(2) == ["m will stage", "m will stage"])
    dispatcher.queue.isSuspended = false
    for task in tasks { #expect(await task.value.isSuccess) }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aSequenceIsDelayedAsAWhole(_ mode: Dispatcher.Mode) async {
    let (dispatcher, scripts) = (dispatcher, [runs("1"), runs("2")])
    let options = DispatchOptions.debounced("k", for: Self.second)
    let results = Recorder<DispatchResult>()
    func dispatch() -> Task<Void, Never> {
      Task {
        if mode == .sync {
          results.record(
            await onOwnThread {
              dispatcher.dispatch(actions: scripts, mode: mode, options: options).resultIfEnded!
            })
        } else {
          results.record(
            await dispatcher.dispatch(actions: scripts, mode: mode, options: options).result)
        }
      }
    }
    _ = (dispatch(), dispatch())
    #expect(await results.first(1)[0].dispatchError?.code == .skipped)
    await clock.pass(Self.second)
    let result = await results.first(2)[1]
    #expect(result.isSuccess && result.steps.count == 2)
    #expect(log.all == ["runs 1", "runs 2"])
  }

  @Test(arguments: Way.all)
  func taskLocalValuesArriveAndTheParentIsTheCaller(_ way: Way) async {
    let (clock, log) = (VirtualClock(), log)
    let dispatcher = Dispatcher(clock: clock, carrying: [CarriedTaskLocal(Self.$color)])
    dispatcher.addStage()
    let script = Script.runs { _ in log.record(Self.color) }
    let options = DispatchOptions.debounced("k", for: Self.second)
    let mode = way.mode
    let task = Self.$color.withValue("red") {
      way.sends
        ? Task { await dispatcher.send(script, mode: mode, options: options).result }
        : Task {
          if mode == .sync {
            return await onOwnThread {
              Self.$color.withValue("red") {
                dispatcher.dispatch(action: script, mode: .sync, options: options).resultIfEnded!
              }
            }
          }
          return await dispatcher.dispatch(action: script, mode: mode, options: options).result
        }
    }
    await clock.pass(Self.second)
    #expect(await task.value.isSuccess)
    #expect(log.all == ["red"])
  }

  @TaskLocal static var color = "none"

  // MARK: Inside others

  @Test func oneMadeInABlockIsCancelledWithItWhileItIsDelayed() async {
    let (dispatcher, handles, script) = (dispatcher, Recorder<DispatchHandle>(), runs("1"))
    let parent = dispatcher.dispatch(
      action: Script.suspends { _ in
        handles.record(
          dispatcher.dispatch(action: script, options: .debounced("k", for: .seconds(1))))
        try await Task.sleep(for: .seconds(3_600))
      })
    let child = await handles.first(1)[0]
    parent.cancel()
    #expect(await child.result.error is CancellationError)
    await parent.ended()
    #expect(log.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func aSynchronousOneWaitsInItsBlockAndIsCancelledWithIt(
    _ mode: Dispatcher.Mode, isCancelled: Bool
  ) async {
    let (dispatcher, results, script) = (dispatcher, Recorder<DispatchResult>(), runs("1"))
    let parent = dispatcher.dispatch(
      action: Script.runs { _ in
        let options = DispatchOptions.debounced("k", for: .seconds(1))
        results.record(
          dispatcher.dispatch(action: script, mode: .sync, options: options).resultIfEnded!)
      }, mode: mode)
    await clock.waitForSleepers(atLeast: 1)
    if isCancelled { parent.cancel() } else { clock.advance(by: Self.second) }
    let result = await results.first(1)[0]
    #expect(isCancelled ? result.error is CancellationError : result.isSuccess)
    await parent.ended()
    #expect(log.count == (isCancelled ? 0 : 1))
  }

  @Test func itsTimeIsThatOfTheSystemsClockToo() async {
    let (dispatcher, _) = makeStage()
    let began = ContinuousClock.now
    let options = DispatchOptions.debounced("k", for: .milliseconds(20))
    let first = dispatcher.dispatch(action: runs("1"), options: options)
    let second = dispatcher.dispatch(action: runs("2"), mode: .serial, options: options)
    #expect(await first.result.dispatchError?.code == .skipped)
    #expect(await second.result.isSuccess)
    #expect(ContinuousClock.now - began >= .milliseconds(20))
    #expect(log.all == ["runs 2"])
  }

  @Test func oneMadeInAnExclusiveSectionBeginsLater() async {
    let (dispatcher, stage, script) = (dispatcher, stage, runs("1"))
    let handles = Recorder<DispatchHandle>()
    let options = DispatchOptions.debounced("k", for: Self.second)
    for mode in Dispatcher.Mode.queuedModes {
      stage.updateModel { _ in
        for _ in 0..<3 {
          handles.record(dispatcher.dispatch(action: script, mode: mode, options: options))
        }
        handles.all.last?.cancel()
        handles.record(dispatcher.dispatch(action: script, mode: mode, options: options))
      }
      #expect(dispatcher.delayedDispatches.count >= 1)
    }
    await comeToRest()
    for handle in handles.all.dropLast() {
      let result = await handle.result
      #expect(result.error is CancellationError || result.dispatchError?.code == .skipped)
    }
    #expect(await handles.all.last!.result.isSuccess)
    #expect(log.all == ["runs 1"])
  }

  /// What waits for it could not see which lane it would need.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func awaitingItInTheLaneThatItNeedsIsRefusedWhenItsTimeHasCome(
    _ mode: Dispatcher.Mode, sends: Bool
  ) async {
    let (dispatcher, script) = (dispatcher, runs("1"))
    let options = DispatchOptions.debounced("k", for: Self.second)
    let codes = Recorder<DispatchError.Code?>()
    let awaited = Recorder<DispatchHandle>()
    let holder = dispatcher.dispatch(
      action: Script.suspends { _ in
        if sends {
          let result = await dispatcher.send(script, mode: mode, options: options)
          return codes.record(result.dispatchError?.code)
        }
        let handle = dispatcher.dispatch(action: script, mode: mode, options: options)
        awaited.record(handle)
        codes.record(await handle.result.dispatchError?.code)
      }, mode: mode)
    if !sends {
      // An await that begins later is refused too, but then the dispatch has its place in the lane, and runs.
      await awaited.first(1)[0].waitUntilAwaited()
    }
    await clock.pass(Self.second)
    #expect(await codes.first(1) == [.wouldDeadlock])
    #expect(await holder.result.isSuccess)
    #expect(log.all.isEmpty)
  }

  @Test func withSyncATasksThreadIsNotBlocked() async {
    let waiting = run("1", Way(mode: .async, sends: false), .debounced("k", for: Self.second))
    await clock.waitForSleepers(atLeast: 1)
    let refused = dispatchHere("2", .debounced("k", for: Self.second))
    #expect(refused.dispatchError?.code == .wouldDeadlock)
    #expect(dispatchHere("3", .throttled("k", per: Self.second)).isSuccess)
    await clock.pass(Self.second)
    #expect(await waiting.value.isSuccess, "What was refused has skipped nothing.")
    let alone = dispatchHere("4", .debounced("other", for: Self.second))
    #expect(alone.dispatchError?.code == .wouldDeadlock)
    await comeToRest()
    let tables = dispatcher.controlTables
    // Alarms that have come at about the same time may fire on several threads.
    while tables.debounces.count > 0 || tables.throttles.count > 0 { await Task.yield() }
  }

  private func dispatchHere(_ name: String, _ options: DispatchOptions) -> DispatchResult {
    dispatcher.dispatch(action: runs(name), mode: .sync, options: options).resultIfEnded!
  }

  // MARK: The end

  @Test(arguments: Way.all)
  func aDrainWaitsForItAndItsReportNamesIt(_ way: Way) async {
    dispatcher.tracksInFlight = true
    let task = await delayed("1", way, .debounced("k", for: Self.second))
    let report = await dispatcher.drain(timeout: .zero)
    #expect(!report.isComplete && report.unfinished?.count == 1)
    #expect(report.unfinished?.first?.mode == way.mode)
    #expect(report.description.contains("RateTests.swift"))
    // What is refused skips nothing.
    let late = await run("late", way, .debounced("k", for: Self.second)).value
    #expect(late.dispatchError?.code == .dispatcherClosed)
    let drains = Recorder<Bool>()
    dispatcher.drain { drains.record($0.isComplete) }
    await clock.pass(Self.second)
    #expect(await drains.first(1) == [true])
    #expect(await task.value.isSuccess)
    #expect(log.all == ["late dispatcherClosed", "runs 1", "1 true"])
  }

  @Test(arguments: Way.all)
  func oneThatWasAcceptedBeginsAlsoAfterAShutDown(_ way: Way) async {
    let task = await delayed("1", way, .debounced("k", for: Self.second))
    dispatcher.shutDown()
    await clock.pass(Self.second)
    #expect(await task.value.isSuccess)
    #expect(log.all == ["runs 1", "1 true"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aListThatWasAcceptedBeginsAlsoAfterAShutDown(_ mode: Dispatcher.Mode) async {
    let counts = Recorder<Int>()
    dispatcher.register(middleware: EndHook { info, _ in counts.record(info.actions.count) })
    let handle = dispatcher.dispatch(
      actions: [runs("1"), runs("2")], mode: mode, options: .debounced("k", for: Self.second))
    dispatcher.shutDown()
    await clock.pass(Self.second)
    #expect(await handle.result.isSuccess)
    #expect(log.all == ["runs 1", "runs 2"])
    #expect(await dispatcher.drain().isComplete)
    #expect(counts.all.filter { $0 == 2 }.count == 1)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func oneWithAStoreThatIsGoneBeginsAlsoAfterAShutDown(_ mode: Dispatcher.Mode) async {
    let kept = dispatcher.register(store: .reducing("kept") {})
    var released: ProbeStore? = .reducing("released") {}
    dispatcher.register(store: released!, ownership: .weak)
    let handle = dispatcher.dispatch(
      Ping(), mode: mode, options: .debounced("k", for: Self.second))
    released = nil
    dispatcher.shutDown()
    await clock.pass(Self.second)
    #expect(await handle.result.isSuccess)
    #expect(kept.model == 1)
  }

  @Test func oneOfAnExclusiveSectionBeginsAlsoAfterAShutDown() async {
    let other = dispatcher.register(store: Store(identifier: "other", model: 0) {})
    let handles = Recorder<DispatchHandle>()
    other.updateModel { _ in
      handles.record(
        dispatcher.dispatch(action: runs("1"), options: .debounced("k", for: Self.second)))
    }
    dispatcher.shutDown()
    clock.advance(by: Self.second)
    #expect(await handles.all[0].result.isSuccess)
    #expect(log.all == ["runs 1"])
  }

  @Test func itKeepsItsDispatcher() async {
    let (clock, log) = (VirtualClock(), log)
    weak var released: Dispatcher?
    do {
      let (dispatcher, _) = makeStage(Dispatcher(clock: clock))
      released = dispatcher
      dispatcher.dispatch(
        action: Script.runs { _ in log.record("ran") },
        options: .debounced("k", for: Self.second))
      dispatcher.dispatch(
        action: Script.adds("x"), options: .throttled("k", per: .seconds(5)))
    }
    await clock.waitForSleepers(atLeast: 1)
    #expect(released != nil)
    clock.advance(by: Self.second)
    #expect(await log.first(1) == ["ran"])
  }

  /// An entry goes with its interval, without another dispatch.
  @Test func nothingRemainsOfKeysThatAreNoLongerUsed() async {
    let count = Load.count(20_000, long: 100_000)
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let ended = EventCount(of: count)
    for key in 0..<count {
      let options: DispatchOptions =
        key % 2 == 0 ? .throttled(key, per: Self.second) : .debounced(key, for: Self.second)
      counter.dispatch(.add(1), mode: .async, options: options) { _ in ended.add() }
    }
    let tables = dispatcher.controlTables
    #expect(tables.debounces.count + tables.throttles.count == count)
    await comeToRest()
    await ended.full()
    while tables.debounces.count > 0 || tables.throttles.count > 0 { await Task.yield() }
    await dispatcher.timersAreGone()
    #expect(dispatcher.delayedDispatches.count == 0)
    #expect(counter.model.count == count)
  }

  @Test func ofManyThreadsTheLastOneRuns() async {
    let (dispatcher, stage) = (dispatcher, stage)
    let handles = Recorder<DispatchHandle>()
    await onOwnThreads(4) { thread in
      for number in 0..<50 {
        handles.record(
          dispatcher.dispatch(
            action: Script.adds("\(thread) \(number)"), mode: .serial,
            options: .debounced("k", for: Self.second)))
      }
    }
    await clock.pass(Self.second)
    var ran = 0
    for handle in handles.all {
      let result = await handle.result
      if result.isSuccess { ran += 1 } else { #expect(result.dispatchError?.code == .skipped) }
    }
    #expect(ran == 1 && stage.model.count == 1)
    #expect(stage.model.allSatisfy { $0.hasSuffix(" 49") })
  }
}
