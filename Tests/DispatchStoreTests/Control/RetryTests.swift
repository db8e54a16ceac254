import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Retries", .timeLimit(.minutes(10)))
struct RetryTests {
  static let second = Duration.seconds(1)
  static let growing = RetryBackoff.exponential(from: second)

  var (clock, dispatcher, stage) = makeClockedStage()
  let log = Recorder<String>()

  private func times(_ text: String) -> Int { log.all.count(where: { $0 == text }) }

  /// Notes "runs" and the store, and throws as often as this in that store.
  private func fails(_ count: Int, in failing: String = "stage", suspends: Bool = false) -> Script {
    let attempt: @Sendable (Stage) throws -> Void = { [log] store in
      let name = "runs \(store.identifier)"
      log.record(name)
      let attempt = log.all.count(where: { $0 == name })
      store.updateModel { $0.append("\(attempt)") }
      if attempt <= count, store.identifier == failing { throw StageFright(place: attempt) }
    }
    return suspends
      ? .suspends { store in
        await Task.yield()
        try attempt(store)
      } : .runs { try attempt($0) }
  }

  private func run(
    _ script: Script, _ way: Way, _ options: DispatchOptions
  ) -> Task<DispatchResult, Never> {
    dispatcher.begin(script, way.mode, options, sends: way.sends) { [log] in
      log.record("completion \($0.isSuccess)")
    }
  }

  // MARK: Attempts

  @Test(arguments: Way.all, [false, true])
  func aStoreThatFailsRunsAgainAfterEachPause(_ way: Way, suspends: Bool) async {
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let task = run(
      fails(2, suspends: suspends), way, .retry(attempts: 3, backoff: Self.growing))
    _ = await log.first(3)
    await clock.pass(.milliseconds(999))
    #expect(times("runs stage") == 1)
    clock.advance(by: .milliseconds(1))
    _ = await log.first(6)
    await clock.pass(.milliseconds(1_999))
    #expect(times("runs stage") == 2)
    clock.advance(by: .milliseconds(1))
    let result = await task.value
    #expect(result.isSuccess)
    #expect(result.stores.map(\.attemptCount) == [3])
    let attempt = ["m will stage", "runs stage", "m did stage"]
    #expect(log.all == attempt + attempt + attempt + ["completion true"])
    #expect(stage.model == ["1", "2", "3"], "What a failed attempt has committed stays.")
  }

  @Test(arguments: Way.all)
  func theLastAttemptsOutcomeIsTheResult(_ way: Way) async {
    let wholes = WholeRecorder(log)
    dispatcher.register(middleware: wholes)
    let result = await run(fails(9), way, .retry(attempts: 3)).value
    #expect(result.error as? StageFright == StageFright(place: 3))
    #expect(result.stores.map(\.attemptCount) == [3])
    #expect(
      log.all
        == ["began", "runs stage", "runs stage", "runs stage", "completion false", "ended"])
    #expect(clock.sleeperCount == 0, "There is no pause.")
  }

  @Test(arguments: Way.all)
  func theReplyOfAnAttemptIsNotThatOfTheNextOne(_ way: Way) async {
    struct Book: ActionType { typealias Reply = Int }
    final class Numbers: Reducer<Int, Book> {
      override func apply(_ action: Book, to store: Store<Int, Book>) throws {
        store.updateModel { $0 += 1 }
        guard store.model == 1 else { return }
        reply(1)
        throw StageFright()
      }
    }
    dispatcher.register(store: Store(identifier: "numbers", model: 0, reducer: Numbers()))
    let result = await dispatcher.run(Book(), way, options: .retry(attempts: 2))
    #expect(result.isSuccess && result["numbers"].isFinished)
    #expect(result.replies(to: Book.self).isEmpty)
  }

  @Test(arguments: Way.all)
  func storesThatHaveFinishedDoNotRunAgainAndThoseThatWaitRunAfterTheLastAttempt(
    _ way: Way
  ) async {
    dispatcher.addStage("before")
    dispatcher.addStage("failing", waitFor: ["before"])
    dispatcher.addStage("after", waitFor: ["failing"])
    dispatcher.addStage("regardless", waitFor: WaitFor(["failing"], runsRegardless: true))
    let task = run(
      fails(1, in: "failing"), way, .retry(attempts: 2, backoff: .constant(Self.second)))
    _ = await log.first(3)
    await clock.pass(Self.second)
    let result = await task.value
    #expect(result.isSuccess)
    for name in ["stage", "before", "after", "regardless"] {
      #expect(times("runs \(name)") == 1)
    }
    let runs = log.all
    #expect(runs.lastIndex(of: "runs failing")! < runs.firstIndex(of: "runs after")!)
    #expect(runs.lastIndex(of: "runs failing")! < runs.firstIndex(of: "runs regardless")!)
    for store in result.stores {
      #expect(store.attemptCount == (store.storeIdentifier == "failing" ? 2 : 1))
    }
  }

  @Test func storesThatRunBesideEachOtherAreRetriedBesideEachOther() async {
    dispatcher.addStage("other")
    let log = log
    let script = Script.runs { store in
      log.record("runs \(store.identifier)")
      if log.all.count(where: { $0 == "runs \(store.identifier)" }) == 1 { throw StageFright() }
    }
    let task = run(script, Way(mode: .async, sends: false), .retry(attempts: 2))
    #expect(await task.value.stores.map(\.attemptCount) == [2, 2])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func theLaneStaysHeldInAPause(_ mode: Dispatcher.Mode, sends: Bool) async {
    let task = run(
      fails(1), Way(mode: mode, sends: sends),
      .retry(attempts: 2, backoff: .constant(Self.second)))
    _ = await log.first(1)
    let next = dispatcher.dispatch(
      action: Script.runs { [log] _ in log.record("next") }, mode: mode)
    await clock.pass(Self.second)
    _ = await (task.value, next.result)
    #expect(log.all == ["runs stage", "runs stage", "completion true", "next"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofASequenceEachActionIsRetriedByItself(_ mode: Dispatcher.Mode) async {
    let (log, dispatcher) = (log, dispatcher)
    let actions = (1...3).map { number in
      Script.runs { _ in
        log.record("\(number)")
        if log.all.count(where: { $0 == "\(number)" }) < number { throw StageFright() }
      }
    }
    let result = await onOwnThread {
      dispatcher.dispatch(actions: actions, mode: mode, options: .retry(attempts: 3))
    }.result
    #expect(result.isSuccess)
    #expect(log.all == ["1", "2", "2", "3", "3", "3"])
    #expect(result.stores.map(\.attemptCount) == [1, 2, 3])
  }

  @Test func aReductionOfASequenceIsRetried() async {
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    let result = await dispatcher.dispatch(
      actions: [CounterAction.fail(1)], options: .retry(attempts: 3)
    ).result
    #expect(result.stores.map(\.attemptCount) == [3])
    #expect(store.model.count == 3, "What a failed attempt has committed stays.")
  }

  // MARK: Which errors

  @Test func byDefaultErrorsOfTheLibraryAreNotRetried() async {
    let log = log
    let script = Script.runs { _ in
      log.record("runs")
      throw DispatchError(code: .notRegistered, message: "of another dispatch")
    }
    let result = await run(script, Way.all[0], .retry(attempts: 3)).value
    #expect(!result.isSuccess && times("runs") == 1)
    let all = await run(
      script, Way.all[0], .retry(attempts: 3) { $0 is DispatchError }
    ).value
    #expect(all.stores.map(\.attemptCount) == [3])
  }

  @Test func onlyErrorsThatTheConditionAcceptsAreRetried() async {
    let result = await run(
      fails(9), Way.all[0],
      .retry(attempts: 9) { ($0 as? StageFright)?.place != 2 }
    ).value
    #expect(result.stores.map(\.attemptCount) == [2])
  }

  @Test func aCancelledOperationAVetoAndAStoreThatDidNotStartAreNotRetried() async {
    let always = DispatchOptions.retry(attempts: 3) { _ in true }
    let cancelled = Script.runs { [log] _ in
      log.record("runs stage")
      throw CancellationError()
    }
    let result = await run(cancelled, Way.all[0], always).value
    #expect(result["stage"].isCancelled == true && times("runs stage") == 1)
    dispatcher.addStage("after", waitFor: ["stage"])
    let failed = await run(fails(9), Way.all[0], always).value
    #expect(failed.stores.map(\.attemptCount) == [3, 1])
    #expect(failed["after"].dispatchError?.code == .dependencyFailed)
    dispatcher.register(
      middleware: RecordingMiddleware("m", to: log, will: { _, _, _ in .veto(reason: "no") }))
    let vetoed = await run(fails(0), Way.all[0], always).value
    #expect(vetoed.stores.map(\.attemptCount) == [1, 1])
    #expect(times("m will stage") == 1)
  }

  // MARK: Hooks

  @Test(arguments: Way.all)
  func aHookMayReplaceOrVetoAnAttempt(_ way: Way) async {
    let log = log
    let replacement = Script.runs { _ in
      log.record("replaced")
      throw StageFright()
    }
    dispatcher.register(
      middleware: RecordingMiddleware(
        "m", to: log,
        will: { _, _, _ in
          switch log.all.count(where: { $0 == "m will stage" }) {
          case 2:
            return .replace(with: replacement)
          case 3: return .veto(reason: "enough")
          default: return .pass
          }
        }))
    let result = await run(fails(9), way, .retry(attempts: 9)).value
    #expect(result["stage"].veto?.reason == "enough")
    let parts = ["runs stage", "replaced"].flatMap { ["m will stage", $0, "m did stage"] }
    #expect(log.all == parts + ["m will stage", "m did stage", "completion false"])
    #expect(result.stores.map(\.attemptCount) == [2])
  }

  // MARK: The end of a pause

  @Test(arguments: Way.all)
  func cancellingEndsAPauseAtOnce(_ way: Way) async {
    let options = DispatchOptions.retry(attempts: 2, backoff: .constant(Self.second))
    let task = run(fails(9), way, [options, .named("retried")])
    _ = await log.first(1)
    await clock.waitForSleepers(atLeast: 1)
    #expect(dispatcher.dispatches(named: "retried").count == 1)
    #expect(dispatcher.cancel(named: "retried") == 1)
    let result = await task.value
    #expect(dispatcher.dispatches(named: "retried").isEmpty)
    #expect(result["stage"].wasCancelled(afterItsStart: true), "\(result)")
    #expect(log.all == ["runs stage", "completion false"])
    await dispatcher.timersAreGone()
    clock.advance(by: Self.second)
    #expect(await run(fails(0), way, DispatchOptions()).value.isSuccess)
    #expect(times("runs stage") == 2)
  }

  @Test(arguments: Way.all)
  func aTimeLimitEndsAPauseAtOnce(_ way: Way) async {
    let options = DispatchOptions.retry(attempts: 2, backoff: .constant(Self.second))
    let (log, free) = (log, Latch())
    let script = Script.suspends { _ in
      log.record("runs stage")
      await free.opened()
      throw StageFright()
    }
    let task = run(script, way, [options, .timeout(.seconds(3_600)), .named("retried")])
    _ = await log.first(1)
    free.open()
    await dispatcher.timersAreSet(2)
    let dispatch = dispatcher.dispatches(named: "retried").first?.dispatch
    dispatch?.timerFired()
    let result = await task.value
    #expect(result.dispatchError?.code == .timedOut)
    #expect(result["stage"].isCancelled == true, "\(result)")
    #expect(log.all == ["runs stage", "completion false"])
  }

  @Test func cancellingATaskEndsThePauseOfWhatItSends() async {
    let task = run(
      fails(9), Way(mode: .serial, sends: true),
      .retry(attempts: 2, backoff: .constant(Self.second)))
    _ = await log.first(1)
    await clock.waitForSleepers(atLeast: 1)
    task.cancel()
    #expect(await task.value["stage"].isCancelled == true)
    #expect(times("runs stage") == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func cancellingASequenceEndsThePauseOfItsAction(_ mode: Dispatcher.Mode) async {
    let (dispatcher, script) = (dispatcher, fails(9))
    let options = DispatchOptions.retry(attempts: 2, backoff: .constant(Self.second))
    async let handle = onOwnThread {
      dispatcher.dispatch(
        actions: [script, script], mode: mode, options: [options, .named("sequence")])
    }
    _ = await log.first(1)
    await clock.waitForSleepers(atLeast: 1)
    dispatcher.cancel(named: "sequence")
    let result = await handle.result
    #expect(result.skippedActionCount == 1 && times("runs stage") == 1)
  }

  @Test func oneCancelledInAnAttemptIsNotRetriedAndStoresThatRunRegardlessRun() async {
    dispatcher.addStage("regardless", waitFor: WaitFor(["stage"], runsRegardless: true))
    let (log, began, free) = (log, Latch(), Latch())
    let handle = dispatcher.dispatch(
      action: Script.suspends { store in
        log.record("runs \(store.identifier)")
        guard store.identifier == "stage" else { return }
        began.open()
        await free.opened()
        throw StageFright()
      }, options: .retry(attempts: 3))
    await began.opened()
    handle.cancel()
    free.open()
    let result = await handle.result
    #expect(result["stage"].isFailed == true, "\(result)")
    #expect(result["regardless"].isFinished == true, "\(result)")
    #expect(log.all == ["runs stage", "runs regardless"])
  }

  // MARK: What ends twice

  @Test func aFormerAttemptsTaskCommitsNothingInTheNextOne() async {
    let (free, committed) = (Latch(), Latch())
    let (stage, log) = (stage, log)
    let result = await run(
      .suspends { _ in
        log.record("runs")
        guard log.count == 1 else {
          free.open()
          await committed.opened()
          return
        }
        Task {
          await free.opened()
          stage.updateModel { $0.append("late") }
          committed.open()
        }
        throw StageFright()
      }, Way.all[0], .retry(attempts: 2)
    ).value
    #expect(result.stores.map(\.attemptCount) == [2])
    #expect(stage.model == ["late"])
  }
}

/// Records the hooks of whole dispatches.
private final class WholeRecorder: Middleware {
  private let log: Recorder<String>

  init(_ log: Recorder<String>) {
    self.log = log
  }

  func dispatchWillBegin(_ dispatch: DispatchInfo) { log.record("began") }
  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) { log.record("ended") }
}
