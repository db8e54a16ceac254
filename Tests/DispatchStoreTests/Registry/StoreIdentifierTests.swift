import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StoreIdentifierTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anIdentifierThatWasNeverRegisteredIsAnError(mode: Dispatcher.Mode) async {
    dispatcher.addProbe("a", to: steps)
    let result = await dispatcher.dispatch(
      storeIdentifier: "never", action: Ping(), mode: mode
    ).result
    #expect(result.errorCode == .unknownStore)
    #expect((result.error as? DispatchError)?.storeIdentifiers == ["never"])
    #expect((result.error as? DispatchError)?.message.contains("\"never\"") == true)
    #expect(steps.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, StoreOwnership.all)
  func aNamedStoreThatIsGoneIsAnErrorToo(mode: Dispatcher.Mode, ownership: StoreOwnership) async {
    dispatcher.addProbe("a", to: steps)
    dispatcher.registerAndDrop("gone", ownership)
    for _ in 0..<2 {
      let result = await dispatcher.dispatch(
        storeIdentifier: "gone", action: Ping(), mode: mode
      ).result
      #expect(result.errorCode == .unknownStore)
      #expect(!result.hasResponders)
    }
    #expect(steps.all.isEmpty)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreDispatchesToItselfAlone(mode: Dispatcher.Mode) async {
    let a = dispatcher.addProbe("a", to: steps)
    dispatcher.addProbe("b", to: steps)
    let one = await a.dispatch(Ping(), mode: mode).result
    #expect(one.stores.map(\.storeIdentifier) == ["a"])
    let two = await dispatcher.dispatch(
      storeIdentifier: a.identifier, actions: [Ping(), Ping()], mode: mode
    ).result
    #expect(two.stores.map(\.storeIdentifier) == ["a", "a"])
    #expect(two.steps.count == 2)
    #expect(a.model == 3)
    #expect(!steps.all.contains("+b"))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreWithoutADispatcherRefusesAndRunsTheCompletion(mode: Dispatcher.Mode) async {
    let store = dispatcher.addProbe("a", to: steps)
    dispatcher.unregister(store: store)
    let completions = Recorder<DispatchResult>()
    let result = await store.dispatch(Ping(), mode: mode) { completions.record($0) }.result
    #expect(result.errorCode == .notRegistered)
    #expect((result.error as? DispatchError)?.message.contains("\"a\"") == true)
    #expect(completions.count == 1)
    #expect(steps.all.isEmpty)
  }
}

extension StoreOwnership {
  fileprivate static let all: [StoreOwnership] = [.strong, .weak]
}

extension Dispatcher {
  /// Registers a store that is gone when this returns.
  fileprivate func registerAndDrop(_ identifier: String, _ ownership: StoreOwnership) {
    let store = ProbeStore.probe(identifier)
    register(store: store, ownership: ownership)
    if ownership == .strong { unregister(store: store) }
  }
}
