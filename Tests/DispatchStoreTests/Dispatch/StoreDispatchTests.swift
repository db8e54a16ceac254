import DispatchStore
import Testing

/// `store.dispatch` with `.sync`, after the thread has dispatched to the store before.
@Suite("Dispatching through a store", .timeLimit(.minutes(10)))
struct StoreDispatchTests {
  let store = CounterStore.counter("counter")

  /// A dispatcher that has the store, and whose route to it the thread knows.
  private func makeDispatcher(_ name: String = "first") -> Dispatcher {
    let dispatcher = Dispatcher(name: name)
    dispatcher.register(store: store)
    for _ in 0..<3 { store.dispatch(.add(1), mode: .sync) }
    return dispatcher
  }

  @Test func failsWhereTheReducerThrows() {
    let dispatcher = makeDispatcher()
    let result = store.dispatch(.fail(4), mode: .sync).resultIfEnded
    #expect(result?["counter"].error as? CounterFailure == CounterFailure(amount: 4))
    #expect(store.model.count == 7)
    withExtendedLifetime(dispatcher) {}
  }

  @Test func reachesObserversAndMiddlewaresThatHaveComeMeanwhile() {
    let dispatcher = makeDispatcher()
    let (changes, calls) = (Recorder<Int>(), Recorder<String>())
    let token = store.observe(.model) { changes.record($0.action == .add(4) ? $0.value.count : 0) }
    store.dispatch(.add(4), mode: .sync)
    #expect(changes.all == [7])
    token.cancel()
    dispatcher.register(middleware: RecordingMiddleware(to: calls))
    store.dispatch(.add(1), mode: .sync)
    #expect(calls.all == ["m will counter", "m did counter"])
    #expect(store.model.count == 8)
  }

  @Test func isRefusedOnceTheStoreIsUnregistered() {
    let dispatcher = makeDispatcher()
    dispatcher.unregister(store: store)
    #expect(store.dispatch(.add(1), mode: .sync).resultIfEnded?.errorCode == .notRegistered)
    #expect(store.dispatcher == nil)
    #expect(store.model.count == 3)
  }

  @Test func isRefusedOnceTheDispatcherHasGone() {
    var dispatcher: Dispatcher? = makeDispatcher()
    #expect(store.dispatcher === dispatcher)
    dispatcher = nil
    #expect(store.dispatch(.add(1), mode: .sync).resultIfEnded?.errorCode == .notRegistered)
    #expect(store.model.count == 3)
  }

  @Test func goesThroughTheDispatcherThatHasTheStoreNow() {
    let (first, calls) = (makeDispatcher(), Recorder<String>())
    first.register(middleware: RecordingMiddleware(to: calls))
    for name in ["second", "third"] {
      store.dispatcher?.unregister(store: store)
      let next = makeDispatcher(name)
      #expect(store.dispatcher === next)
    }
    #expect(calls.all.isEmpty)
    #expect(store.dispatcher == nil)
    first.register(store: store)
    store.dispatch(.add(1), mode: .sync)
    #expect(calls.all == ["m will counter", "m did counter"])
    #expect(store.model.count == 10)
  }

  /// Each dispatch reduces once, or is refused: while the dispatcher goes, and another one comes.
  @Test func isDoneOnceOrRefusedWhileTheDispatcherGoes() async {
    for _ in 0..<Load.count(20) {
      let done = EventCount(of: .max)
      let dispatcher = Holder(makeDispatcher())
      let before = store.model.count
      await onOwnThreads(3) { [store] index in
        for turn in 0..<400 {
          if index == 0, turn == 50 { dispatcher.release() }
          let result = store.dispatch(.add(1), mode: .sync).resultIfEnded
          if result?["counter"].isFinished == true { done.add() }
        }
      }
      #expect(store.model.count - before == done.count)
      #expect(store.dispatcher == nil)
    }
  }

  private final class Holder: @unchecked Sendable {
    // because one thread releases it
    private var dispatcher: Dispatcher?

    init(_ dispatcher: Dispatcher) {
      self.dispatcher = dispatcher
    }

    func release() {
      dispatcher = nil
    }
  }
}
