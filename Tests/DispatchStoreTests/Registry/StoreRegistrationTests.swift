import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StoreRegistrationTests {
  private let dispatcher = Dispatcher()
  private let steps = Recorder<String>()

  @Test func registeringReturnsTheStoreAndFindsItAgain() {
    let store = CounterStore.counter("counter")
    #expect(store.dispatcher == nil)
    #expect(dispatcher.register(store: store) === store)
    #expect(store.dispatcher === dispatcher)
    #expect(dispatcher.store(with: "counter") === store)
    #expect(dispatcher.store(with: "other") == nil)
  }

  @Test func aDuplicateOfTheSameTypeReturnsTheRegisteredStore() async {
    let first = dispatcher.addProbe("a", to: steps)
    let duplicate = ProbeStore.probe("a", model: 7)
    #expect(dispatcher.register(store: duplicate, waitFor: ["never"]) === first)
    #expect(dispatcher.stores.count == 1)
    #expect(dispatcher.store(with: "a") === first)
    // The registered store stays, and the other one has no dispatcher.
    #expect(await dispatcher.dispatch(action: Ping()).result.isSuccess)
    #expect(first.model == 1)
    #expect(duplicate.model == 7)
    #expect(duplicate.dispatcher == nil)
    let other = Dispatcher()
    #expect(other.register(store: duplicate) === duplicate)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func registeringAStoreTwiceRegistersItOnce(mode: Dispatcher.Mode) async {
    let store = dispatcher.addProbe("a", to: steps)
    #expect(dispatcher.register(store: store) === store)
    #expect(dispatcher.stores.count == 1)
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(result.stores.count == 1)
    #expect(store.model == 1)
  }

  @Test func storesAreListedInOrderOfRegistration() {
    let names = (0..<50).map { "s\(($0 * 17) % 50)" }
    for name in names { dispatcher.addProbe(name, to: steps) }
    #expect(dispatcher.stores.map(\.identifier) == names)
    dispatcher.unregister(storeIdentifier: names[10])
    dispatcher.addProbe(names[10], to: steps)
    #expect(dispatcher.stores.map(\.identifier).last == names[10])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func unregisteringOneStoreKeepsAllOthers(mode: Dispatcher.Mode) async {
    for name in ["a", "b", "c"] { dispatcher.addProbe(name, to: steps) }
    let b = dispatcher.store(with: "b")!
    #expect(dispatcher.unregister(store: b))
    #expect(!dispatcher.unregister(store: b))
    #expect(dispatcher.stores.map(\.identifier) == ["a", "c"])
    let result = await dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(Set(result.stores.map(\.storeIdentifier)) == ["a", "c"])
    #expect((b as? ProbeStore)?.dispatcher == nil)
  }

  @Test func unregisteringAnotherStoreOfTheSameNameDoesNothing() {
    let store = dispatcher.addProbe("a", to: steps)
    let stranger = ProbeStore.probe("a")
    #expect(!dispatcher.unregister(store: stranger))
    #expect(dispatcher.store(with: "a") === store)
  }

  @Test func unregisteringByIdentifierReturnsTheStore() {
    let store = dispatcher.addProbe("a", to: steps)
    #expect(dispatcher.unregister(storeIdentifier: "a") === store)
    #expect(dispatcher.unregister(storeIdentifier: "a") == nil)
    #expect(store.dispatcher == nil)
  }

  @Test func unregisteringByTypeTakesAllOfThatTypeInOrder() {
    let probes = ["c", "a", "b"].map { dispatcher.addProbe($0, to: steps) }
    let counter = dispatcher.register(store: .counter("counter"))
    let removed = dispatcher.unregister(storesOfType: ProbeStore.self)
    #expect(removed.map(ObjectIdentifier.init) == probes.map(ObjectIdentifier.init))
    #expect(probes.allSatisfy { $0.dispatcher == nil })
    #expect(dispatcher.stores.map(\.identifier) == ["counter"])
    #expect(counter.dispatcher === dispatcher)
    #expect(dispatcher.unregister(storesOfType: ProbeStore.self).isEmpty)
  }

  @Test func anIdentifierIsFreeAgainAfterwardsForAnyType() {
    let store = dispatcher.addProbe("a", to: steps)
    dispatcher.unregister(store: store)
    let counter = dispatcher.register(store: .counter("a"))
    #expect(dispatcher.store(with: "a") === counter)
    let other = Dispatcher()
    #expect(other.register(store: store) === store)
    #expect(store.dispatcher === other)
  }

  @Test func aStoreIsFreeAgainOnceItsDispatcherIsGone() {
    let store = CounterStore.counter()
    do {
      let shortLived = Dispatcher()
      shortLived.register(store: store)
    }
    #expect(store.dispatcher == nil)
    #expect(dispatcher.register(store: store) === store)
  }

  @Test func identifiersThatAreNotGivenAreUnique() {
    let stores = (0..<100).map { _ in CounterStore.counter() }
    for store in stores { #expect(dispatcher.register(store: store) === store) }
    #expect(Set(stores.map(\.identifier)).count == 100)
  }
}
