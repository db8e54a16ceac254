import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MiddlewareOrderTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func willDispatchRunsForAllStoresInOrderBeforeAnyStartsAndDidDispatchAtEachOnesEnd(
    mode: Dispatcher.Mode, style: OperationStyle
  ) async {
    dispatcher.addProbe("b", waitFor: ["a"], style: style, to: steps)
    dispatcher.addProbe("a", style: style, to: steps)
    for name in ["1", "2"] {
      dispatcher.register(middleware: RecordingMiddleware(name, to: steps))
    }
    for _ in 0..<3 { _ = await dispatcher.dispatch(action: Ping(), mode: mode).result }
    let once = [
      "1 will a", "2 will a", "1 will b", "2 will b", "+a", "-a", "2 did a", "1 did a", "+b", "-b",
      "2 did b", "1 did b",
    ]
    #expect(steps.all == once + once + once)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func willDispatchRunsBeforeReducersAndBeforeAnythingIsScheduled(mode: Dispatcher.Mode) async {
    let steps = steps
    let dispatcher = Dispatcher()
    let reducer = ClosureReducer<Int, Ping> { action, store in
      steps.record("reducer called")
      return ActionOperation(action: action, store: store) { _, _ in }
    }
    dispatcher.register(store: ProbeStore(identifier: "s", model: 0, reducer: reducer))
    dispatcher.register(
      middleware: RecordingMiddleware(
        to: steps,
        will: { _, _, _ in
          steps.record("operations \(dispatcher.queue.operationCount)")
          return .pass
        }))
    let handle = await onOwnThread {
      let thread = ObjectIdentifier(Thread.current)
      let isDispatchingThread = Recorder<Bool>()
      dispatcher.register(
        middleware: RecordingMiddleware(will: { _, _, _ in
          isDispatchingThread.record(ObjectIdentifier(Thread.current) == thread)
          return .pass
        }))
      let handle = dispatcher.dispatch(action: Ping(), mode: mode)
      // On the dispatching thread, before dispatch returns, in every mode.
      #expect(isDispatchingThread.all == [true])
      return handle
    }
    #expect(await handle.result.isSuccess)
    #expect(steps.all == ["m will s", "operations 0", "reducer called", "m did s"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aMiddlewareRegisteredTwiceIsRegisteredOnce(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("s", to: Recorder())
    let middleware = RecordingMiddleware("m", to: steps)
    let other = RecordingMiddleware("o", to: steps)
    dispatcher.register(middleware: middleware)
    dispatcher.register(middleware: other)
    dispatcher.register(middleware: middleware)
    #expect(dispatcher.middlewares.count == 2)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(steps.all == ["m will s", "o will s", "o did s", "m did s"])
    #expect(dispatcher.unregister(middleware: middleware))
    #expect(!dispatcher.unregister(middleware: middleware))
    #expect(dispatcher.middlewares.count == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func onlyTheHooksThatAMiddlewareSaysAreCalled(mode: Dispatcher.Mode) async {
    let whole = WholeMiddleware()
    dispatcher.register(middleware: whole)
    let store = dispatcher.register(store: CounterStore.counter())
    _ = await store.dispatch(.add(1), mode: mode).result
    #expect(whole.steps.all == ["begin", "end"])
    #expect(store.model.count == 1)
  }

  private final class WholeMiddleware: Middleware {
    let steps = Recorder<String>()
    let hooks = MiddlewareHooks.dispatches
    func willDispatch(
      transaction: DispatchInfo, action: AnyAction, in store: AnyStore
    ) -> MiddlewareVerdict { .veto(reason: "not called") }
    func dispatchWillBegin(_ dispatch: DispatchInfo) { steps.record("begin") }
    func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) { steps.record("end") }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneRegisteredBetweenWillAndDidIsCalledFromTheNextDispatchOn(mode: Dispatcher.Mode) async {
    let (dispatcher, steps) = (dispatcher, steps)
    dispatcher.addProbe("s", to: Recorder())
    let late = RecordingMiddleware("late", to: steps)
    dispatcher.register(
      middleware: RecordingMiddleware(
        to: steps,
        will: { _, _, _ in
          dispatcher.register(middleware: late)
          return .pass
        }))
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(steps.all == ["m will s", "m did s"])
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(
      steps.all.dropFirst(2) == ["m will s", "late will s", "late did s", "m did s"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneUnregisteredBetweenWillAndDidStillGetsDidDispatch(mode: Dispatcher.Mode) async {
    let (dispatcher, steps) = (dispatcher, steps)
    let middleware = RecordingMiddleware("m", to: steps)
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, _ in
        dispatcher.unregister(middleware: middleware)
      }
    }
    dispatcher.register(store: ProbeStore(identifier: "s", model: 0, reducer: reducer))
    dispatcher.register(middleware: middleware)
    for _ in 0..<2 { _ = await dispatcher.dispatch(action: Ping(), mode: mode).result }
    #expect(steps.all == ["m will s", "m did s"])
  }

  @Test func updatesOutsideADispatchDoNotPassThroughMiddleware() {
    let store = dispatcher.addProbe("s", to: Recorder())
    dispatcher.register(middleware: RecordingMiddleware("m", to: steps))
    store.updateModel { $0 = 1 }
    store.inject(model: 2, action: Ping())
    #expect(steps.all.isEmpty)
    #expect(store.model == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func inASequenceHooksOfAnActionRunOnceTheActionBeforeHasEnded(mode: Dispatcher.Mode) async {
    let steps = steps
    dispatcher.addProbe("s", to: steps)
    let transactions = Recorder<DispatchInfo>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        to: steps,
        will: { transaction, _, _ in
          transactions.record(transaction)
          return .pass
        }))
    let handle = dispatcher.dispatch(actions: [Ping(), Ping()], mode: mode)
    _ = await handle.result
    let one = ["m will s", "+s", "-s", "m did s"]
    #expect(steps.all == one + one)
    // Each action has its own transaction, whose parent is that of the sequence.
    #expect(Set(transactions.all.map(\.id)).count == 2)
    #expect(transactions.all.map(\.parent) == [handle.dispatchID, handle.dispatchID])
    #expect(!transactions.all.map(\.id).contains(handle.dispatchID))
  }
}
