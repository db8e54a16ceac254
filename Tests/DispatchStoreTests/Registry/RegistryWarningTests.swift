import DispatchStore
import Testing

@Suite("What the registry reports", .timeLimit(.minutes(10)))
struct RegistryWarningTests {
  private let dispatcher = Dispatcher(name: "shop")
  private let warnings = Recorder<DispatchWarning>()

  init() {
    dispatcher.onWarning { [warnings] in warnings.record($0) }
  }

  private func expect(_ kinds: [DispatchWarning.Kind], naming names: [String] = []) {
    #expect(warnings.all.map(\.kind) == kinds)
    for name in names {
      #expect(warnings.all.last?.message.contains(name) == true, "\(warnings.all)")
    }
  }

  // MARK: Registering

  @Test func anotherStoreUnderTheSameIdentifierIsReportedAndBothAreNamed() {
    let first = dispatcher.register(store: .counter("basket"), waitFor: ["till"])
    let second = dispatcher.register(store: .counter("basket"), ownership: .weak)
    #expect(first === second)
    expect(
      [.alreadyRegistered],
      naming: ["\"basket\"", "\"shop\"", "Another", "(strong, waiting for \"till\")", "(weak,"])
    #expect(warnings.all.first?.storeIdentifier == "basket")
  }

  @Test func theSameStoreWithAnotherWaitForIsReportedAndBothAreNamed() {
    let store = dispatcher.register(store: .counter("basket"), waitFor: ["till"])
    dispatcher.register(store: store, waitFor: WaitFor(["till"], runsRegardless: true))
    expect(
      [.alreadyRegistered],
      naming: ["The same store", "waiting for \"till\")", "\"till\", running regardless)"])
  }

  @Test func theSameStoreOnceMoreIsNotReported() {
    let store = dispatcher.register(store: .counter("basket"), waitFor: ["till"])
    #expect(dispatcher.register(store: store, waitFor: ["till"]) === store)
    expect([])
  }

  #if !canImport(ObjectiveC)
    @Test func aReducerThatOverridesNothingIsReported() {
      dispatcher.register(
        store: Store(identifier: "idle", model: 0, reducer: Reducer<Int, Ping>()))
      expect([.reducerMissing], naming: ["\"idle\"", "Reducer<Int, Ping>", "reduce(into:action:)"])
      #expect(warnings.all.first?.storeIdentifier == "idle")
    }
  #endif

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReducerThatOverridesNothingFailsEachActionAndCommitsNothing(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(
      store: Store(identifier: "idle", model: 0, reducer: Reducer<Int, Ping>()))
    let changes = Recorder<UInt64>()
    for isObserved in [false, true] {
      let token = isObserved ? store.observe(.model) { changes.record($0.version) } : nil
      let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
      #expect(result["idle"].errorCode == .reducerMissing)
      withExtendedLifetime(token) {}
    }
    #expect(store.version == 0)
    #expect(changes.count == 0)
  }

  // MARK: Dispatching

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anActionWithoutResponderIsReportedOnceForItsType(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: .counter("basket"))
    for _ in 0..<3 { _ = await dispatcher.dispatch(action: Ping(), mode: mode).result }
    expect([.noResponder], naming: ["\"shop\"", "Ping"])
    dispatcher.unregister(store: store)
    for _ in 0..<3 {
      _ = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
      _ = await dispatcher.dispatch(actions: [Ping(), CounterAction.add(1)], mode: mode).result
    }
    expect([.noResponder, .noResponder], naming: ["CounterAction"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aNamedStoreOfAnotherActionTypeIsReported(mode: Dispatcher.Mode) async {
    dispatcher.register(store: .counter("basket"))
    for _ in 0..<2 {
      let handle = dispatcher.dispatch(storeIdentifier: "basket", action: Ping(), mode: mode)
      let result = await handle.result
      #expect(result.isSuccess && !result.hasResponders)
    }
    expect([.noResponder], naming: ["\"basket\"", "Ping"])
  }

  @Test func onWarningMayDispatchTheSameAction() {
    dispatcher.onWarning { [dispatcher, warnings] in
      warnings.record($0)
      dispatcher.dispatch(action: Ping(), mode: .sync)
    }
    dispatcher.dispatch(action: Ping(), mode: .sync)
    expect([.noResponder])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aRefinedPrerequisiteThatIsAbsentIsLeftOutAndReported(mode: Dispatcher.Mode) async {
    let steps = Recorder<String>()
    dispatcher.addProbe("a", to: steps) { _, _ in ["absent", "b"] }
    dispatcher.addProbe("b", to: steps)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.isSuccess)
    #expect(steps.all == ["+b", "-b", "+a", "-a"])
    expect([.absentPrerequisite], naming: ["\"a\"", "\"absent\"", "Ping"])
  }

  @Test func aRefinedPrerequisiteOfAnotherActionTypeIsNotReported() {
    dispatcher.register(store: .counter("basket"))
    dispatcher.addProbe("a", to: Recorder()) { _, _ in ["basket"] }
    #expect(dispatcher.dispatch(action: Ping(), mode: .sync).resultIfEnded?.isSuccess == true)
    expect([])
  }
}
