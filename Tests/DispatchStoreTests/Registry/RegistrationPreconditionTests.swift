import DispatchStore
import Testing

struct RegistrationPreconditionTests {
  @Test func aDuplicateIdentifierOfAnotherTypeStopsTheProgramAndNamesBoth() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let dispatcher = Dispatcher(name: "shop")
      dispatcher.register(store: CounterStore.counter("basket"))
      dispatcher.addProbe("basket", to: Recorder())
    }
    #expect(result.message.contains("Store identifier \"basket\" is taken in dispatcher \"shop\""))
    #expect(result.message.contains("Store<Counter, CounterAction>"))
    #expect(result.message.contains("Store<Int, Ping>"))
  }

  @Test func aSecondDispatcherForAStoreStopsTheProgramAndNamesBoth() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let first = Dispatcher(name: "first")
      let store = first.register(store: CounterStore.counter("basket"))
      Dispatcher(name: "second").register(store: store)
    }
    #expect(
      result.message.contains("Store \"basket\" can't be registered with dispatcher \"second\""))
    #expect(result.message.contains("dispatcher \"first\""))
  }

  @Test func aWeaklyRegisteredStoreHasOneDispatcherToo() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let first = Dispatcher(name: "first")
      let store = first.register(store: CounterStore.counter("basket"), ownership: .weak)
      Dispatcher(name: "second").register(store: store)
    }
    #expect(result.message.contains("dispatcher \"first\""))
  }
}
