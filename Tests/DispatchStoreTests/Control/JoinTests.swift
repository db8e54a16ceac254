import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Joins", .timeLimit(.minutes(10)))
struct JoinTests {
  var (clock, dispatcher, stage) = makeClockedStage()
  let log = Recorder<String>()

  /// A block that runs until it is cancelled, or the latch opens.
  private func holds(_ name: String, until free: Latch, failing: Bool = false) -> Script {
    .suspends(name) { [log] _ in
      log.record("+\(name)")
      await free.openedOrCancelled()
      try Task.checkCancellation()
      if failing { throw StageFright(place: 7) }
    }
  }

  private func run(
    _ script: Script, _ way: Way, _ options: DispatchOptions
  ) -> Task<DispatchResult, Never> {
    dispatcher.begin(script, way.mode, options, sends: way.sends) { [log] in
      log.record("\(script) \($0.dispatchError?.code.description ?? "\($0.isSuccess)")")
    }
  }

  /// The first one of a key, whose block runs; and one that joins it, and that others can cancel.
  private func joined(
    _ way: Way, _ options: DispatchOptions = DispatchOptions(), until free: Latch,
    failing: Bool = false
  ) async -> (first: Task<DispatchResult, Never>, second: Task<DispatchResult, Never>) {
    let first = run(
      holds("first", until: free, failing: failing), way,
      [.idempotencyKey("key", remembered: .zero), .named("first")])
    _ = await log.first(1)
    return (first, await joining(way, options))
  }

  private func joining(
    _ way: Way, _ options: DispatchOptions, marker key: String = "marker"
  ) async -> Task<DispatchResult, Never> {
    let free = Latch()
    let marker = dispatcher.dispatch(
      action: Script.suspends { _ in
        await free.openedOrCancelled()
      }, options: .cancelsPrevious(key))
    let task = run(
      .adds("second"), way,
      [options, .idempotencyKey("key", remembered: .zero), .named("second"), .cancelsPrevious(key)])
    await marker.ended()
    return task
  }

  // MARK: What joins

  @Test(arguments: Way.all)
  func oneThatJoinsRunsNothingAndEndsWithTheSameResult(_ way: Way) async {
    let free = Latch()
    let (first, second) = await joined(way, until: free)
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    let third = await joining(way, DispatchOptions(), marker: "other marker")
    #expect(
      await run(.adds("other"), Way.all[0], .idempotencyKey("other key", remembered: .zero)).value
        .isSuccess)
    free.open()
    let results = [await first.value, await second.value, await third.value]
    for result in results {
      #expect(result.isSuccess && result.dispatchID == results[0].dispatchID)
      #expect(result.stores.map(\.storeIdentifier) == ["stage"])
    }
    #expect(stage.model == ["other"])
    #expect(log.all.count(where: { $0 == "second true" }) == 2)
    #expect(log.all.count(where: { $0 == "m will stage" }) == 2, "Of the marker, and of the other.")
    #expect(
      await run(.adds("next"), way, .idempotencyKey("key", remembered: .zero)).value.isSuccess)
    #expect(stage.model == ["other", "next"])
  }

  @Test(arguments: Way.all)
  func failuresAreShared(_ way: Way) async {
    let free = Latch()
    let (first, second) = await joined(way, until: free, failing: true)
    free.open()
    let (one, two) = (await first.value, await second.value)
    #expect(one.error as? StageFright == StageFright(place: 7))
    #expect(two.error as? StageFright == StageFright(place: 7))
    #expect(one.dispatchID == two.dispatchID)
    #expect(Set(log.all) == ["+first", "first false", "second false"])
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Way.all)
  func oneWithASkippingKeyJoinsToo(_ way: Way) async {
    let free = Latch()
    let (first, second) = await joined(way, .skippedIfInFlight("bank"), until: free)
    // It runs nothing, and so skips nothing.
    let other = await run(.adds("other"), Way.all[0], .skippedIfInFlight("bank")).value
    #expect(other.isSuccess)
    free.open()
    let (one, two) = (await first.value, await second.value)
    #expect(one.isSuccess && two.isSuccess)
    #expect(one.dispatchID == two.dispatchID)
    #expect(stage.model == ["other"])
  }

  @Test(arguments: Way.all)
  func oneWithTheSkippingKeyOfTheFirstJoinsToo(_ way: Way) async {
    let free = Latch()
    let options: DispatchOptions = [.idempotencyKey("order 7"), .skippedIfInFlight("bank")]
    let first = run(holds("first", until: free), way, options)
    _ = await log.first(1)
    let second = dispatcher.dispatch(action: Script.adds("x"), options: options)
    let another = dispatcher.dispatch(
      action: Script.adds("y"),
      options: [.idempotencyKey("order 8"), .skippedIfInFlight("bank")])
    #expect(await another.result.dispatchError?.code == .skipped)
    free.open()
    let (one, two) = (await first.value, await second.result)
    #expect(one.isSuccess && two.isSuccess)
    #expect(one.dispatchID == two.dispatchID)
    #expect(stage.model.isEmpty)
  }

  @Test func repliesAreShared() async throws {
    let (dispatcher, free) = (dispatcher, Latch())
    dispatcher.register(
      store: Store(identifier: "numbers", model: 0) {
        Perform(Number.self) { number, _ in
          await free.opened()
          return number.value
        }
      })
    let options = DispatchOptions.idempotencyKey("key", remembered: .zero)
    let first = dispatcher.dispatch(action: Number(value: 7), options: options)
    let second = Task.immediate {
      await dispatcher.send(Number(value: 8), mode: .serial, options: options)
    }
    let third = dispatcher.dispatch(action: Number(value: 9), options: options)
    free.open()
    #expect(try await second.value.reply == 7)
    #expect(await first.result.replies(to: Number.self) == ["numbers": 7])
    #expect(await third.result.replies(to: Number.self) == ["numbers": 7])
  }

  struct Number: ActionType {
    typealias Reply = Int
    let value: Int
  }

  @Test(
    arguments: [
      [], .skippedIfInFlight("bank"),
      [.skippedIfInFlight("bank"), .limited(by: DispatchLimit(4))],
    ] as [DispatchOptions])
  func ofManyAtOnceOneRuns(_ besides: DispatchOptions) async {
    for round in 0..<100 {
      let (free, dispatcher) = (Latch(), dispatcher)
      let script = holds("\(round)", until: free)
      let results = Recorder<DispatchHandle>()
      await onOwnThreads(4) { index in
        results.record(
          dispatcher.dispatch(
            action: script, mode: index % 2 == 0 ? .async : .serial,
            options: [.idempotencyKey(round, remembered: .zero), besides]))
      }
      free.open()
      var transactions: Set<DispatchID> = []
      for handle in results.all {
        let result = await handle.result
        #expect(result.isSuccess)
        transactions.insert(result.dispatchID)
      }
      #expect(transactions.count == 1)
    }
    #expect(log.count == 100)
  }

  @Test func aSequenceIsJoinedAsAWhole() async {
    let free = Latch()
    let first = dispatcher.dispatch(
      actions: [holds("1", until: free), Script.adds("2")], mode: .serial,
      options: .idempotencyKey("key", remembered: .zero))
    let second = dispatcher.dispatch(
      actions: [Script.adds("x"), Script.adds("y")], mode: .serial,
      options: .idempotencyKey("key", remembered: .zero))
    let third = dispatcher.dispatch(
      action: Script.adds("z"), options: .idempotencyKey("key", remembered: .zero))
    free.open()
    #expect(await first.result.steps.count == 2)
    #expect(await second.result.steps.count == 2)
    #expect(
      await third.result.dispatchError?.code == .idempotencyKeyReused, "One action is no list.")
    #expect(stage.model == ["2"])
  }

  @Test func madeInAnExclusiveSectionItJoinsToo() async {
    let (free, dispatcher, handles) = (Latch(), dispatcher, Recorder<DispatchHandle>())
    let script = holds("first", until: free)
    stage.updateModel { _ in
      for _ in 0..<3 {
        handles.record(
          dispatcher.dispatch(action: script, options: .idempotencyKey("key", remembered: .zero)))
      }
    }
    free.open()
    let results = [
      await handles.all[0].result, await handles.all[1].result, await handles.all[2].result,
    ]
    #expect(results.allSatisfy { $0.isSuccess && $0.dispatchID == results[0].dispatchID })
    #expect(log.all == ["+first"])
  }

  // MARK: Ends

  @Test(arguments: Way.all)
  func cancellingOneThatJoinsEndsItAlone(_ way: Way) async {
    let free = Latch()
    let (first, second) = await joined(way, until: free)
    #expect(dispatcher.cancel(named: "second") == 1)
    #expect(await second.value.error is CancellationError)
    #expect(log.all == ["+first", "second false"])
    free.open()
    #expect(await first.value.isSuccess)
  }

  @Test(arguments: Way.all)
  func cancellingTheFirstEndsAll(_ way: Way) async {
    let (first, second) = await joined(way, until: Latch())
    #expect(dispatcher.cancel(named: "first") == 1)
    #expect(await first.value.error is CancellationError)
    let result = await second.value
    #expect(result.error is CancellationError && result["stage"].isCancelled == true)
    #expect(stage.model.isEmpty)
  }

  @Test(arguments: Way.all)
  func itsTimeLimitIsItsOwn(_ way: Way) async {
    let free = Latch()
    let (first, second) = await joined(way, .timeout(.seconds(1)), until: free)
    await clock.pass(.seconds(1))
    #expect(await second.value.dispatchError?.code == .timedOut)
    free.open()
    #expect(await first.value.isSuccess)
  }

  @Test func aSuspendedQueueDoesNotHoldBackWhatJoins() async {
    let free = Latch()
    let (first, second) = await joined(Way(mode: .async, sends: false), until: free)
    dispatcher.queue.isSuspended = true
    free.open()
    #expect(await first.value.isSuccess)
    #expect(await second.value.isSuccess)
    dispatcher.queue.isSuspended = false
  }

  @Test func aDrainWaitsForWhatJoinsAndAClosedDispatcherAcceptsNoMore() async {
    let free = Latch()
    let (first, second) = await joined(Way(mode: .serial, sends: false), until: free)
    let drains = Recorder<Bool>()
    dispatcher.drain { drains.record($0.isComplete) }
    let late = dispatcher.dispatch(
      action: Script.adds("late"), options: .idempotencyKey("key", remembered: .zero))
    #expect(await late.result.dispatchError?.code == .dispatcherClosed)
    free.open()
    #expect(await drains.first(1) == [true])
    #expect(await first.value.isSuccess)
    #expect(await second.value.isSuccess)
  }

  // MARK: Rings

  @Test(arguments: Dispatcher.Mode.queuedModes, Way.all)
  func waitingForItInABlockOfTheFirstIsRefused(_ mode: Dispatcher.Mode, _ way: Way) async {
    let (dispatcher, codes) = (dispatcher, Recorder<DispatchError.Code?>())
    let options = DispatchOptions.idempotencyKey("key", remembered: .zero)
    let script = Script.suspends { _ in
      let result = await dispatcher.run(Script.adds("x"), way, options: options)
      codes.record(result.dispatchError?.code)
    }
    let first = dispatcher.dispatch(action: script, mode: mode, options: options)
    #expect(await codes.first(1) == [.wouldDeadlock])
    #expect(await first.result.isSuccess)
    #expect(stage.model.isEmpty)
  }

  @Test func inABlockOfTheFirstItMayBeMadeAndLeft() async {
    let (dispatcher, handles) = (dispatcher, Recorder<DispatchHandle>())
    let first = dispatcher.dispatch(
      action: Script.runs { _ in
        handles.record(
          dispatcher.dispatch(
            action: Script.adds("x"),
            options: [.idempotencyKey("key", remembered: .zero), .detached]))
      }, options: .idempotencyKey("key", remembered: .zero))
    #expect(await first.result.isSuccess)
    let inner = await handles.first(1)[0].result
    #expect(inner.isSuccess && inner.dispatchID == first.dispatchID)
    #expect(stage.model.isEmpty)
  }

  /// A repeat joins before it cancels older ones of its key: it spares the one that it joins.
  @Test(arguments: Way.all.filter { $0.mode != .sync })
  func aRepeatThatIsTheLatestOfItsKeyJoinsBeforeItCancels(_ way: Way) async {
    let (free, options, dispatcher) = (
      Latch(),
      [.idempotencyKey("key", remembered: .zero), .cancelsPrevious("key")] as DispatchOptions,
      dispatcher
    )
    let first = run(holds("first", until: free), way, options)
    _ = await log.first(1)
    let second =
      way.sends
      ? Task.immediate {
        (await dispatcher.send(Script.adds("x"), mode: way.mode, options: options)).result
      }
      : run(.adds("x"), way, options)
    free.open()
    let (one, other) = (await first.value, await second.value)
    #expect(one.isSuccess && other.isSuccess)
    #expect(one.dispatchID == other.dispatchID)
    #expect(stage.model.isEmpty)
  }
}
