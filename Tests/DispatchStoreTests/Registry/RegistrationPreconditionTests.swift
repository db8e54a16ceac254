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
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(message.contains("Store identifier \"basket\" is taken in dispatcher \"shop\""))
    #expect(message.contains("Store<Counter, CounterAction>"))
    #expect(message.contains("Store<Int, Ping>"))
  }

  @Test func aSecondDispatcherForAStoreStopsTheProgramAndNamesBoth() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let first = Dispatcher(name: "first")
      let store = first.register(store: CounterStore.counter("basket"))
      Dispatcher(name: "second").register(store: store)
    }
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(message.contains("Store \"basket\" can't be registered with dispatcher \"second\""))
    #expect(message.contains("dispatcher \"first\""))
  }

  @Test func aWeaklyRegisteredStoreHasOneDispatcherToo() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let first = Dispatcher(name: "first")
      let store = first.register(store: CounterStore.counter("basket"), ownership: .weak)
      Dispatcher(name: "second").register(store: store)
    }
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(message.contains("dispatcher \"first\""))
  }
}
