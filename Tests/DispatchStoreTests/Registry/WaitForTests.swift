import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct WaitForTests {
  @Test func namesStoresAndIdentifiersInOneLiteral() {
    let a = CounterStore.counter("a")
    let named: WaitFor = ["a", "b"]
    let mixed: WaitFor = [a, "b"]
    #expect(mixed == named)
    #expect(mixed.storeIdentifiers == ["a", "b"])
    #expect(WaitFor([a]) == [a])
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func waitsForStoresRegisteredEarlierAndLater(
    mode: Dispatcher.Mode, style: OperationStyle
  ) async {
    for names in [["a", "b"], ["b", "a"]] {
      let (dispatcher, steps) = (Dispatcher(), Recorder<String>())
      for name in names {
        dispatcher.addProbe(name, waitFor: name == "b" ? ["a"] : [], style: style, to: steps)
      }
      let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
      #expect(steps.all == ["+a", "-a", "+b", "-b"])
      #expect(result.stores.map(\.storeIdentifier) == ["a", "b"])
      #expect(result.isSuccess)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, OperationStyle.allCases)
  func aDiamondKeepsAllOfItsOrders(mode: Dispatcher.Mode, style: OperationStyle) async throws {
    let dispatcher = Dispatcher()
    let steps = Recorder<String>()
    dispatcher.addProbe("bottom", waitFor: ["left", "right"], style: style, to: steps)
    dispatcher.addProbe("left", waitFor: ["top"], style: style, to: steps)
    dispatcher.addProbe("right", waitFor: ["top"], style: style, to: steps)
    dispatcher.addProbe("top", style: style, to: steps)
    for _ in 0..<20 {
      let before = steps.count
      let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
      #expect(result.isSuccess)
      let new = Array(steps.all[before...])
      try #require(new.count == 8)
      #expect(new[..<2] == ["+top", "-top"])
      #expect(new[6...] == ["+bottom", "-bottom"])
      #expect(Set(new[2..<6]) == ["+left", "-left", "+right", "-right"])
    }
  }

  @Test(arguments: [.sync] + Dispatcher.Mode.laneModes)
  func tiesGoByOrderOfRegistration(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let steps = Recorder<String>()
    for name in ["c", "a", "d", "b"] { dispatcher.addProbe(name, to: steps) }
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(steps.all == ["c", "a", "d", "b"].flatMap { ["+\($0)", "-\($0)"] })
    #expect(result.stores.map(\.storeIdentifier) == ["c", "a", "d", "b"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theReducerRefinesTheOrderForAnAction(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let steps = Recorder<String>()
    let declared = Recorder<WaitFor>()
    dispatcher.addProbe("a", waitFor: ["c"], to: steps) { action, waitFor in
      declared.record(waitFor)
      return action.name == "turned" ? ["b"] : waitFor
    }
    dispatcher.addProbe("b", to: steps)
    dispatcher.addProbe("c", waitFor: ["b"], to: steps)
    _ = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(steps.all == ["+b", "-b", "+c", "-c", "+a", "-a"])
    let result = await dispatcher.dispatch(action: Ping(name: "turned"), mode: mode).result
    #expect(result.stores.map(\.storeIdentifier) == ["b", "a", "c"])
    // `waitFor` is called once for each dispatch, with what was declared at registration.
    #expect(declared.all == [["c"], ["c"]])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theOrderIsThatOfTheActionAsDispatched(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let steps = Recorder<String>()
    let refined = Recorder<String>()
    dispatcher.addProbe("a", to: steps) { action, waitFor in
      refined.record(action.name)
      return action.name == "original" ? ["b"] : waitFor
    }
    dispatcher.addProbe("b", to: steps)
    let middleware = RecordingMiddleware(will: { _, _, _ in .replace(with: Ping(name: "new")) })
    dispatcher.register(middleware: middleware)
    _ = await dispatcher.dispatch(action: Ping(name: "original"), mode: mode).result
    #expect(steps.all == ["+b", "-b", "+a", "-a"])
    #expect(refined.all == ["original"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func onlyStoresThatTakePartAreWaitedFor(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let steps = Recorder<String>()
    dispatcher.register(store: CounterStore.counter("elsewhere"))
    let gone = dispatcher.addProbe("gone", to: steps)
    dispatcher.addProbe("a", waitFor: ["elsewhere", "gone", "b"], to: steps)
    dispatcher.addProbe("b", to: steps)
    dispatcher.unregister(store: gone)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.isSuccess)
    #expect(steps.all == ["+b", "-b", "+a", "-a"])
    // In a dispatch to this store alone, it waits for no other.
    let alone = await dispatcher.dispatch(storeIdentifier: "a", action: Ping(), mode: mode).result
    #expect(alone.stores.map(\.storeIdentifier) == ["a"])
    #expect(alone.isSuccess)
  }

  /// As declared it has no order: the prerequisite was never registered, or it waits for itself.
  @Test(arguments: Dispatcher.Mode.everyMode, ["later", "probe"])
  func aKeyCountsForAStoreThatRunsOnlyAsRefined(
    mode: Dispatcher.Mode, prerequisite: String
  ) async {
    let dispatcher = Dispatcher()
    let steps = Recorder<String>()
    let store = dispatcher.addProbe("probe", waitFor: [prerequisite], to: steps) { _, _ in [] }
    for _ in 0..<2 {
      let handle = dispatcher.dispatch(
        action: Ping(), mode: mode, options: .idempotencyKey("key"))
      #expect(await handle.result.isSuccess)
    }
    #expect(store.model == 1)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, ["later", "probe"])
  func aDebounceCountsForAStoreThatRunsOnlyAsRefined(
    mode: Dispatcher.Mode, prerequisite: String
  ) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let steps = Recorder<String>()
    let store = dispatcher.addProbe("probe", waitFor: [prerequisite], to: steps) { _, _ in [] }
    let handles = (0..<3).map { _ in
      dispatcher.dispatch(
        action: Ping(), mode: mode, options: .debounced("key", for: .seconds(1)))
    }
    clock.advance(by: .seconds(1))
    for handle in handles { await handle.ended() }
    #expect(handles[2].resultIfEnded?.isSuccess == true)
    #expect(store.model == 1)
  }
}
