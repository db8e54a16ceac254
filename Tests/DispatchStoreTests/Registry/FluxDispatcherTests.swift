import DispatchStore
import Testing

/// The tests of Flux's dispatcher, in this library's terms.
@Suite(.timeLimit(.minutes(10)))
struct FluxDispatcherTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func executesAllSubscribers(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", to: steps)
    let b = dispatcher.addProbe("b", to: steps)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect([a.model, b.model] == [1, 1])
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect([a.model, b.model] == [2, 2])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func waitsForSubscribersRegisteredEarlier(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", to: steps)
    let b = dispatcher.addProbe("b", to: steps)
    dispatcher.addProbe("c", waitFor: [a, b], to: steps)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(steps.all.suffix(2) == ["+c", "-c"])
    #expect(Set(steps.all.prefix(4)) == ["+a", "-a", "+b", "-b"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func waitsForSubscribersRegisteredLater(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("c", waitFor: ["a", "b"], to: steps)
    dispatcher.addProbe("a", to: steps)
    dispatcher.addProbe("b", to: steps)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(steps.all.suffix(2) == ["+c", "-c"])
    #expect(Set(steps.all.prefix(4)) == ["+a", "-a", "+b", "-b"])
  }

  /// Flux throws here; this dispatcher takes the second action, and loses neither.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func dispatchingWhileDispatchingLosesNothing(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let inner = Recorder<DispatchHandle>()
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { action, store in
        if action.name == "outer" {
          inner.record(dispatcher.dispatch(action: Ping(name: "inner"), mode: mode))
        }
        store.updateModel { $0 += 1 }
      }
    }
    let store = dispatcher.register(
      store: ProbeStore(identifier: "a", model: 0, reducer: reducer))
    #expect(await dispatcher.dispatch(action: Ping(name: "outer"), mode: mode).result.isSuccess)
    #expect(await inner.all[0].result.isSuccess)
    #expect(store.model == 2)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func refusesToWaitForAnInvalidIdentifier(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("a", waitFor: ["1337"], to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.errorCode == .unknownStore)
    #expect(steps.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func refusesSelfCircularDependencies(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", waitFor: ["a"], to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.errorCode == .waitForCycle)
    #expect(a.model == 0)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func refusesMultiCircularDependencies(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", waitFor: ["b"], to: steps)
    let b = dispatcher.addProbe("b", waitFor: ["a"], to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.errorCode == .waitForCycle)
    #expect([a.model, b.model] == [0, 0])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func remainsConsistentAfterAFailedDispatch(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", to: steps)
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { action, store in
        if action.name == "throws" { throw PingFailure() }
        store.updateModel { $0 += 1 }
      }
    }
    let b = dispatcher.register(store: ProbeStore(identifier: "b", model: 0, reducer: reducer))
    let failed = await dispatcher.dispatch(action: Ping(name: "throws"), mode: mode).result
    #expect(failed.error is PingFailure)
    // The other store ran all the same, and both run the next action.
    #expect([a.model, b.model] == [1, 0])
    #expect(await dispatcher.dispatch(action: Ping(), mode: mode).result.isSuccess)
    #expect([a.model, b.model] == [2, 1])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func unregistersSubscribers(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", to: steps)
    let b = dispatcher.addProbe("b", to: steps)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    dispatcher.unregister(store: b)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect([a.model, b.model] == [2, 1])
  }
}
