import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ObserverReentrancyTests {
  private let dispatcher = Dispatcher()

  @Test(arguments: Dispatcher.Mode.everyMode, Dispatcher.Mode.everyMode)
  func anObserverThatDispatchesNeitherSilencesTheOthersNorChangesTheirOrder(
    outer: Dispatcher.Mode, inner: Dispatcher.Mode
  ) async {
    let dispatcher = dispatcher
    let store = dispatcher.register(store: .counter())
    let (before, after) = (Recorder<Int>(), Recorder<Int>())
    let ends = Recorder<Bool>()
    let tokens = [
      store.observe(.model) { before.record($0.value.count) },
      store.observe(.model) { change in
        guard change.value.count < 5 else { return }
        dispatcher.dispatch(CounterAction.add(1), mode: inner) {
          ends.record($0.isSuccess)
        }
        if inner == .sync {
          // A caller of .sync reads its own writes.
          #expect(store.model.count > change.value.count)
        }
      },
      store.observe(.model) { after.record($0.value.count) },
    ]
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: outer).result
    #expect(result.isSuccess)
    #expect(await ends.first(4) == [true, true, true, true])
    #expect(before.all == [1, 2, 3, 4, 5])
    #expect(after.all == [1, 2, 3, 4, 5])
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func whatFollowsANestedSynchronousDispatchFollowsItsDelivery(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let steps = Recorder<String>()
    let store = dispatcher.register(store: .counter("s"))
    dispatcher.register(
      middleware: RecordingMiddleware(did: { _, action, _ in steps.record("did \(action)") }))
    let tokens = [
      store.observe(.model) { change in
        guard change.version == 1 else { return }
        steps.record("nested begins")
        store.dispatch(.add(10), mode: .sync) { _ in steps.record("nested completion") }
        steps.record("nested returned, \(store.model.count)")
      },
      store.observe(.model) { steps.record("delivered \($0.value.count)") },
    ]
    let handle = dispatcher.dispatch(action: CounterAction.add(1), mode: mode) {
      steps.record("completion")
    }
    #expect(await handle.result.isSuccess)
    #expect(
      steps.all == [
        "nested begins", "nested returned, 11", "delivered 1", "delivered 11", "did add(10)",
        "nested completion", "did add(1)", "completion",
      ])
    withExtendedLifetime(tokens) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aNestedSynchronousDispatchToAnotherStoreIsCompleteWhenItReturns(
    mode: Dispatcher.Mode
  ) async {
    let dispatcher = dispatcher
    let steps = Recorder<String>()
    let store = dispatcher.register(store: .counter("s"))
    let other = dispatcher.addProbe("other", to: Recorder())
    let tokens = [
      store.observe(.model) { _ in
        dispatcher.dispatch(action: Ping(), mode: .sync) { steps.record("nested completion") }
        steps.record("nested returned")
      },
      other.observe(.model) { steps.record("delivered \($0.value)") },
    ]
    _ = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(steps.all == ["delivered 1", "nested completion", "nested returned"])
    withExtendedLifetime(tokens) {}
  }

  @Test func anObserverMayChangeItsOwnStoreAndThatIsDeliveredNext() {
    let store = CounterStore.counter()
    let received = Recorder<Int>()
    let tokens = [
      store.observe(.model) { change in
        if change.value.count < 3 { store.updateModel { $0.count += 1 } }
      },
      store.observe(.model) { received.record($0.value.count) },
    ]
    store.updateModel { $0.count = 1 }
    #expect(received.all == [1, 2, 3])
    withExtendedLifetime(tokens) {}
  }

  @Test func aDispatchFromAnObserverHasItsCauseAsParent() async {
    let dispatcher = dispatcher
    let parents = Recorder<DispatchID?>()
    let store = dispatcher.register(store: .counter())
    dispatcher.addProbe("other", to: Recorder())
    dispatcher.register(
      middleware: RecordingMiddleware(will: { transaction, action, _ in
        if action is Ping { parents.record(transaction.parent) }
        return .pass
      }))
    let token = store.observe(.model) { _ in dispatcher.dispatch(action: Ping(), mode: .sync) }
    let handle = dispatcher.dispatch(action: CounterAction.add(1), mode: .serial)
    _ = await handle.result
    #expect(parents.all == [handle.dispatchID])
    token.cancel()
  }

  @Test func commitsContinueWhileAnObserverIsSlow() async {
    let store = CounterStore.counter()
    let (entered, proceed, committing) = (Latch(), Latch(), Latch())
    let received = Recorder<String>()
    let tokens = [
      store.observe(.model) { change in
        guard change.version == 1 else { return }
        entered.open()
        proceed.wait()
      },
      store.observe(.model) { received.record("delivered \($0.value.count)") },
    ]
    async let slow: Void = onOwnThread {
      store.updateModel { $0.count = 1 }
      received.record("first returned")
    }
    await entered.opened()
    async let second: Void = onOwnThread {
      store.updateModel { model in
        model.count = 2
        committing.open()
      }
      received.record("second returned")
    }
    await committing.opened()
    // Committed, and read, while the first one is being delivered.
    #expect(store.model.count == 2)
    #expect(store.version == 2)
    #expect(received.all.isEmpty)
    proceed.open()
    _ = await (slow, second)
    let order = received.all
    #expect(order.firstIndex(of: "delivered 1")! < order.firstIndex(of: "delivered 2")!)
    #expect(order.firstIndex(of: "delivered 2")! < order.firstIndex(of: "second returned")!)
    #expect(order.firstIndex(of: "delivered 1")! < order.firstIndex(of: "first returned")!)
    #expect(order.count == 4)
    withExtendedLifetime(tokens) {}
  }

  @Test func anotherStoresObserversAreNotifiedWhileAnObserverIsSlow() async {
    let (store, other) = (CounterStore.counter("slow"), CounterStore.counter("other"))
    let (entered, proceed) = (Latch(), Latch())
    let received = Recorder<Int>()
    let tokens = [
      store.observe(.model) { _ in
        entered.open()
        proceed.wait()
      },
      other.observe(.model) { received.record($0.value.count) },
    ]
    async let slow: Void = onOwnThread { store.updateModel { $0.count = 1 } }
    await entered.opened()
    other.updateModel { $0.count = 5 }
    #expect(received.all == [5])
    proceed.open()
    await slow
    withExtendedLifetime(tokens) {}
  }
}
