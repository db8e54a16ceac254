import Testing

@testable import DispatchStore

@Suite("Former dispatchers of a store", .timeLimit(.minutes(10)))
struct FormerDispatcherTests {
  @Test func areNotKept() {
    let store = CounterStore.counter("counter")
    for round in 0..<100 {
      weak var former: Dispatcher?
      do {
        let dispatcher = Dispatcher()
        former = dispatcher
        dispatcher.register(store: store)
        #expect(store.dispatcher === dispatcher)
        store.dispatch(.add(1), mode: .sync)
        dispatcher.unregister(store: store)
      }
      #expect(former == nil && store.dispatcher == nil)
      #expect(store.home.withLock { $0 == nil }, "Nothing is left of it.")
      #expect(store.model.count == round + 1)
    }
  }
}
