import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct SnapshotTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  /// Registers a store "first" whose block calls a closure, and "second" that waits for it.
  private func addPair(_ body: @escaping @Sendable () -> Void) {
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, _ in body() }
    }
    dispatcher.register(store: ProbeStore(identifier: "first", model: 0, reducer: reducer))
    dispatcher.addProbe("second", waitFor: ["first"], to: steps)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreUnregisteredDuringADispatchStillTakesPart(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    addPair { dispatcher.unregister(storeIdentifier: "second") }
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result["second"].isFinished == true)
    #expect(steps.all == ["+second", "-second"])
    let next = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(next.stores.map(\.storeIdentifier) == ["first"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreRegisteredDuringADispatchTakesPartInTheNext(mode: Dispatcher.Mode) async {
    let (dispatcher, steps) = (dispatcher, steps)
    addPair { dispatcher.addProbe("third", to: steps) }
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.stores.map(\.storeIdentifier) == ["first", "second"])
    let next = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(Set(next.stores.map(\.storeIdentifier)) == ["first", "second", "third"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theSnapshotIsTakenWhenTheActionIsDispatched(mode: Dispatcher.Mode) async {
    let (free, observed) = (Latch(), Latch())
    let held = dispatchElsewhere(until: free)
    let store = dispatcher.addProbe("a", to: steps)
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, _, _ in
        observed.open()
        return .pass
      }))
    let dispatcher = dispatcher
    async let result = onOwnThread {
      dispatcher.dispatch(action: Ping(), mode: mode, options: .after(held))
    }.result
    await observed.opened()
    dispatcher.unregister(store: store)
    free.open()
    #expect(await result["a"].isFinished == true)
    #expect(store.model == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func eachActionOfASequenceTakesItsOwnSnapshot(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    addPair { dispatcher.unregister(storeIdentifier: "second") }
    let result = await dispatcher.dispatch(actions: [Ping(), Ping()], mode: mode).result
    #expect(result.stores.map(\.storeIdentifier) == ["first", "second", "first"])
  }
}
