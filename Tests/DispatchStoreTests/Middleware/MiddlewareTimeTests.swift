import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// The times in `didDispatch`, by a clock that the test advances.
@Suite("The times of a store's part", .timeLimit(.minutes(10)))
struct MiddlewareTimeTests {
  private let clock: VirtualClock
  private let dispatcher: Dispatcher
  private let times = Recorder<String>()

  init() {
    let clock = VirtualClock()
    self.clock = clock
    dispatcher = Dispatcher(clock: clock)
    let times = times
    dispatcher.register(
      middleware: RecordingMiddleware(did: { transaction, _, store in
        times.record(
          "\(store.identifier) \(transaction.duration), queued \(transaction.timeQueued)")
      }))
  }

  /// A store whose block takes that many seconds.
  private func add(
    _ name: String, _ style: OperationStyle, taking seconds: Int, waitFor: WaitFor = []
  ) {
    let clock = clock
    let reducer = style.reducer { _ in clock.advance(by: .seconds(seconds)) }
    dispatcher.register(
      store: ProbeStore(identifier: name, model: 0, reducer: reducer), waitFor: waitFor)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func areWithoutTheStoresThatItWaitedFor(mode: Dispatcher.Mode, style: OperationStyle) async {
    add("a", style, taking: 2)
    add("b", style, taking: 3, waitFor: ["a"])
    add("c", style, taking: 4, waitFor: ["b"])
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(
      times.all == [
        "a 2.0 seconds, queued 0.0 seconds", "b 3.0 seconds, queued 2.0 seconds",
        "c 4.0 seconds, queued 5.0 seconds",
      ])
  }

  private static let atomicOptions: [DispatchOptions] = [
    .atomic, [.atomic, .timeout(.seconds(60))], [.atomic, .retry(attempts: 2)],
  ]

  @Test(arguments: Dispatcher.Mode.everyMode, atomicOptions)
  func ofAnAtomicActionAreThoseOfAllOfIt(mode: Dispatcher.Mode, options: DispatchOptions) async {
    let clock = clock
    for name in ["a", "b", "c"] {
      dispatcher.register(store: .reducing(name) { clock.advance(by: .seconds(2)) })
    }
    let handle = dispatcher.dispatch(action: Ping(), mode: mode, options: options)
    #expect(await handle.result.isSuccess)
    #expect(times.all == ["a", "b", "c"].map { "\($0) 6.0 seconds, queued 0.0 seconds" })
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, OperationStyle.allCases)
  func areWithoutTheTimeInTheQueue(mode: Dispatcher.Mode, style: OperationStyle) async {
    add("a", style, taking: 3)
    let latch = Latch()
    let other = Dispatcher()
    let before = other.addStage().dispatch(.suspends { _ in await latch.opened() }, mode: .async)
    let handle = dispatcher.dispatch(action: Ping(), mode: mode, options: .after(before))
    clock.advance(by: .seconds(5))
    latch.open()
    _ = await handle.result
    #expect(times.all == ["a 3.0 seconds, queued 5.0 seconds"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areWithoutTheTimeThatAnOperationWaitsForItsDependencies(mode: Dispatcher.Mode) async {
    let (clock, queue) = (clock, OperationQueue())
    let reducer = ClosureReducer<Int, Ping> { action, store in
      let operation = ActionOperation(action: action, store: store) { _, _ in
        clock.advance(by: .seconds(3))
      }
      let dependency = BlockOperation { clock.advance(by: .seconds(5)) }
      operation.addDependency(dependency)
      queue.addOperation(dependency)
      return operation
    }
    dispatcher.register(store: ProbeStore(identifier: "a", model: 0, reducer: reducer))
    _ = await onOwnThread { [dispatcher] in dispatcher.dispatch(action: Ping(), mode: mode) }.result
    #expect(times.all == ["a 3.0 seconds, queued 5.0 seconds"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAStoreThatIsNotStartedItIsQueuedToItsEnd(mode: Dispatcher.Mode) async {
    let clock = clock
    dispatcher.register(
      store: ProbeStore(
        identifier: "a", model: 0,
        reducer: ApplyingReducer { _, _ in
          clock.advance(by: .seconds(2))
          throw PingFailure()
        }))
    add("b", .applying, taking: 3, waitFor: ["a"])
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(
      times.all == ["a 2.0 seconds, queued 0.0 seconds", "b 0.0 seconds, queued 2.0 seconds"])
  }

  @Test
  func areExactByAClockOfTheProgram() async {
    let (clock, durations) = (clock, Recorder<Duration>())
    dispatcher.register(
      middleware: RecordingMiddleware(did: { transaction, _, _ in
        durations.record(transaction.duration)
      }))
    // As quotients of floating-point numbers, these would be a nanosecond short.
    let times = [295_149, 295_153, 100_000_000_003].map { Duration.milliseconds($0) }
    let passing = Recorder<Duration>()
    let reducer = ApplyingReducer { _, _ in clock.advance(by: passing.all.last!) }
    dispatcher.register(store: ProbeStore(identifier: "exact", model: 0, reducer: reducer))
    for time in times {
      passing.record(time)
      await dispatcher.dispatch(action: Ping(), mode: .sync).ended()
    }
    #expect(durations.all == times)
  }
}
