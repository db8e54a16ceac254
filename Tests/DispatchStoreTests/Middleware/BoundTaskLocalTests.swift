import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

private enum Span {
  @TaskLocal static var current = "none"
  @TaskLocal static var depth = 0
}

/// Values that a middleware binds for the code of a dispatch.
@Suite("Bound task-local values", .timeLimit(.minutes(10)))
struct BoundTaskLocalTests {
  /// Binds a span for each dispatch, inside the span that is current where the dispatch is made.
  private final class Tracer: Middleware {
    let hooks: MiddlewareHooks
    let log: Recorder<String>

    init(_ log: Recorder<String>, _ hooks: MiddlewareHooks = .all) {
      (self.hooks, self.log) = (hooks, log)
    }

    func dispatchWillBegin(_ dispatch: DispatchInfo) {
      let name = dispatch.isSequence ? "sequence" : "\(dispatch.actions[0])"
      dispatch.bind(Span.$current, to: "\(Span.current)/\(name)")
      dispatch.bind(Span.$depth, to: Span.depth + 1)
    }

    func willDispatch(
      transaction: DispatchInfo, action: AnyAction, in store: AnyStore
    ) -> MiddlewareVerdict {
      log.record("will \(Span.current)")
      return .pass
    }

    func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
      log.record("did \(Span.current)")
    }

    func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {
      log.record("end \(Span.current)")
    }
  }

  private let dispatcher = Dispatcher()
  private let log = Recorder<String>()

  /// Scripts of each kind, which record the span in their block.
  private func scripts(_ body: @escaping @Sendable () -> Void) -> [Script] {
    [
      .runs("s") { store in
        body()
        store.updateModel { $0.append("") }
      },
      .suspends("s") { store in
        await Task.yield()
        await withTaskGroup { $0.addTask { #expect(Span.current == "none/s") } }
        body()
        store.updateModel { $0.append("") }
      },
      .controls("s") { operation, store in
        body()
        store.updateModel { $0.append("") }
        operation.finish()
      },
      .controls("s") { operation, _ in
        body()
        DispatchQueue.global().async {
          operation.updateModel { $0.append("") }
          operation.finish()
        }
      },
    ]
  }

  @Test(arguments: Way.all, [DispatchOptions(), .timeout(.seconds(60)), .retry(attempts: 2)])
  func areCurrentInAllCodeOfTheDispatch(_ way: Way, _ options: DispatchOptions) async {
    let log = log
    dispatcher.register(middleware: Tracer(log))
    let token = dispatcher.addStage().observe(.model) { _ in log.record("observer \(Span.current)")
    }
    for script in scripts({ log.record("block \(Span.current) \(Span.depth)") }) {
      let task = dispatcher.begin(script, way.mode, options, sends: way.sends) { _ in
        log.record("then \(Span.current)")
      }
      #expect(await task.value.isSuccess)
    }
    let once = [
      "will none/s", "block none/s 1", "observer none/s", "did none/s", "then none/s", "end none/s",
    ]
    #expect(log.all == once + once + once + once)
    #expect(Span.current == "none")
    token.cancel()
  }

  /// Also where only whole dispatches have hooks, so that stores run as without a middleware.
  @Test(arguments: Way.all)
  func areCurrentWhereStoresHaveNoHooks(_ way: Way) async {
    let (dispatcher, log) = (Dispatcher(), log)
    dispatcher.register(middleware: Tracer(log, .dispatches))
    let stage = dispatcher.addStage()
    let counter = dispatcher.register(store: .counter("counter"))
    let tokens = [
      stage.observe(.model) { _ in log.record("observer \(Span.current)") },
      counter.observe(.model) { _ in log.record("observer \(Span.current)") },
    ]
    for script in scripts({ log.record("block \(Span.current)") }) {
      let task = dispatcher.begin(script, way.mode, DispatchOptions(), sends: way.sends) { _ in
        log.record("then \(Span.current)")
      }
      #expect(await task.value.isSuccess)
    }
    let once = ["block none/s", "observer none/s", "then none/s", "end none/s"]
    #expect(log.all == once + once + once + once)
    if way.sends {
      await counter.send(.add(1), mode: way.mode)
    } else {
      await counter.dispatch(.add(1), mode: way.mode).ended()
    }
    #expect(log.all.suffix(2) == ["observer none/add(1)", "end none/add(1)"])
    for token in tokens { token.cancel() }
  }

  /// Each on a lane, the concurrent queue, the main queue, or the thread or task of the outer one.
  @Test(arguments: Way.all, Way.all)
  func ofANestedDispatchAreInsideThoseOfTheOuterOne(_ outer: Way, _ inner: Way) async {
    let (dispatcher, log) = (dispatcher, log)
    dispatcher.register(middleware: Tracer(Recorder(), .dispatches))
    dispatcher.addStage()
    let nested = Script.suspends("inner") { _ in
      await Task.yield()
      log.record("\(Span.current) \(Span.depth)")
    }
    let mode =
      inner.mode == outer.mode && inner.sends ? Dispatcher.Mode.serial(lane: "b") : inner.mode
    let script = Script.suspends("outer") { _ in
      await Task.yield()
      if inner.sends {
        await dispatcher.send(nested, mode: mode)
      } else {
        dispatcher.dispatch(action: nested, mode: mode)
      }
      log.record("\(Span.current) \(Span.depth)")
    }
    #expect(
      await dispatcher.begin(script, outer.mode, DispatchOptions(), sends: outer.sends).value
        .isSuccess)
    #expect(Set(await log.first(2)) == ["none/outer 1", "none/outer/inner 2"])
  }

  /// A dispatch that waits for its lane, on the lane's thread where it only reduces.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func areCurrentBehindABusyLane(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (dispatcher, log, free) = (dispatcher, log, Latch())
    dispatcher.register(middleware: Tracer(log))
    dispatcher.addStage()
    let counter = dispatcher.register(store: .counter("counter"))
    let token = counter.observe(.model) { _ in log.record("observer \(Span.current)") }
    let held = dispatcher.dispatch(
      action: Script.suspends("h") { _ in await free.opened() }, mode: mode)
    let task = Task {
      await Span.$current.withValue("task") {
        if sends {
          await counter.send(.add(1), mode: Dispatcher.SendMode(mode)!) { _ in
            log.record("then \(Span.current)")
          }
        } else {
          await counter.dispatch(.add(1), mode: mode) { _ in log.record("then \(Span.current)") }
            .ended()
        }
        #expect(Span.current == "task")
      }
    }
    _ = await log.first(2)
    free.open()
    _ = (await held.result, await task.value)
    #expect(
      log.all.filter { $0.contains("add") }
        == ["will", "observer", "did", "then", "end"].map {
          "\($0) task/add(1)"
        })
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofASequenceAreAroundThoseOfItsActions(_ mode: Dispatcher.Mode) async {
    let log = log
    dispatcher.register(middleware: Tracer(log))
    dispatcher.addStage()
    let scripts = [
      Script.runs("a") { _ in log.record("block \(Span.current)") },
      Script.suspends("b") { _ in
        await Task.yield()
        log.record("block \(Span.current)")
      },
    ]
    let handle = dispatcher.dispatch(actions: scripts, mode: mode) {
      log.record("then \(Span.current)")
    }
    #expect(await handle.result.isSuccess)
    let steps = ["a", "b"].flatMap { name in
      ["will", "block", "did", "end"].map { "\($0) none/sequence/\(name)" }
    }
    #expect(log.all == steps + ["then none/sequence", "end none/sequence"])
    #expect(Span.current == "none")
  }

  /// The caller's values, what the dispatcher carries, and what the middlewares bind, from outside to inside.
  @Test(arguments: Way.all)
  func comeBeforeCarriedOnesAndTheLastMiddlewareWins(_ way: Way) async {
    let dispatcher = Dispatcher(carrying: [
      CarriedTaskLocal(Span.$depth), CarriedTaskLocal(Span.$current),
    ])
    let log = log
    dispatcher.addStage()
    final class Binding: Middleware {
      let value: String
      init(_ value: String) { self.value = value }
      func dispatchWillBegin(_ dispatch: DispatchInfo) { dispatch.bind(Span.$current, to: value) }
    }
    for name in ["first", "second"] { dispatcher.register(middleware: Binding(name)) }
    for script in [
      Script.runs { _ in log.record("\(Span.current) \(Span.depth)") },
      .suspends { _ in
        await Task.yield()
        log.record("\(Span.current) \(Span.depth)")
      },
    ] {
      // Twice, so that the memory of the first one's values is used again.
      for depth in [3, 4] {
        let task = Span.$depth.withValue(depth) {
          dispatcher.begin(script, way.mode, DispatchOptions(), sends: way.sends)
        }
        _ = await task.value
      }
    }
    let once = way.mode == .sync ? ["second 0", "second 0"] : ["second 3", "second 4"]
    #expect(log.all == once + once)
  }

  /// Stores that wait for each other, and others that run beside them.
  @Test(arguments: Way.all)
  func areCurrentInEachOfSeveralStores(_ way: Way) async {
    let log = log
    dispatcher.register(middleware: Tracer(Recorder(), .dispatches))
    for index in 0..<6 {
      dispatcher.addStage("\(index)", waitFor: index.isMultiple(of: 2) ? [] : ["\(index - 1)"])
    }
    let script = Script.suspends("s") { store in
      await Task.yield()
      log.record(Span.current)
    }
    #expect(
      await dispatcher.begin(script, way.mode, DispatchOptions(), sends: way.sends).value.isSuccess)
    #expect(log.all == Array(repeating: "none/s", count: 6))
  }

  /// One that is cancelled in its lane, and one whose result comes at its deadline.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func areCurrentAtAnEarlyEnd(_ mode: Dispatcher.Mode) async {
    let (clock, log, free) = (VirtualClock(), log, Latch())
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.register(middleware: Tracer(log, .dispatches))
    dispatcher.addStage()
    let held = dispatcher.dispatch(
      action: Script.suspends("h") { _ in await free.opened() }, mode: mode,
      options: .timeout(.seconds(1))
    ) { log.record("then \(Span.current)") }
    let cancelled = dispatcher.dispatch(action: Script.adds("c"), mode: mode) {
      log.record("then \(Span.current)")
    }
    cancelled.cancel()
    await cancelled.ended()
    #expect(log.all == ["then none/c", "end none/c"])
    await clock.pass(.seconds(1))
    await held.ended()
    #expect(log.all.contains("then none/h"))
    free.open()
    // Stores that end after the result end the handle's `settled` before the hook is called.
    #expect(await log.first(4).suffix(1) == ["end none/h"])
  }

  /// A debounced dispatch begins later, with the values that are bound then.
  @Test(arguments: Way.all.filter { $0.mode != .sync })
  func areCurrentAfterADelay(_ way: Way) async {
    let (clock, log) = (VirtualClock(), log)
    let dispatcher = Dispatcher(clock: clock)
    dispatcher.register(middleware: Tracer(Recorder(), .dispatches))
    dispatcher.addStage()
    let script = Script.suspends("s") { _ in
      await Task.yield()
      log.record(Span.current)
    }
    let task = dispatcher.begin(
      script, way.mode, .debounced("k", for: .seconds(1)), sends: way.sends)
    await clock.pass(.seconds(1))
    #expect(await task.value.isSuccess)
    #expect(log.all == ["none/s"])
  }

  /// Where the dispatcher carries the task-local value, too.
  @Test(arguments: Way.all)
  func reachEffectsAndGroupsThatCarryThem(_ way: Way) async {
    let (dispatcher, log) = (Dispatcher(carrying: [CarriedTaskLocal(Span.$current)]), log)
    dispatcher.register(middleware: Tracer(Recorder(), .dispatches))
    dispatcher.addStage()
    struct Step: ActionType, CustomStringConvertible { let description = "step" }
    dispatcher.register(
      store: Store(
        identifier: "steps", model: 0,
        reducer: FunctionReducer<Int, Step> { count, _ in
          count += 1
          log.record(Span.current)
        }))
    dispatcher.register(effect: Effect(Script.self) { _, context in await context.send(Step()) })
    let script = Script.runs("s") { _ in
      dispatcher.dispatch(
        ActionGroup {
          Step()
          Step()
        })
    }
    _ = await dispatcher.begin(script, way.mode, DispatchOptions(), sends: way.sends).value
    #expect(Set(await log.first(3)) == ["none/s/step"])
  }

  @Test func bindingOneLaterStopsTheProgram() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let dispatcher = Dispatcher()
      dispatcher.addStage()
      dispatcher.register(
        middleware: RecordingMiddleware(will: { dispatch, _, _ in
          dispatch.bind(Span.$depth, to: 1)
          return .pass
        }))
      dispatcher.dispatch(action: Script.adds("a"), mode: .sync)
    }
    #expect(result.message.contains("Call bind(_:to:) in dispatchWillBegin."))
  }
}
