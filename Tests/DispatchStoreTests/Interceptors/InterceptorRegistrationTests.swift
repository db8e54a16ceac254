import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// For which stores an interceptor is called, for how long, and what it keeps.
@Suite(.timeLimit(.minutes(10)))
struct InterceptorRegistrationTests {
  private let dispatcher = Dispatcher()
  private let interceptor = TestInterceptor<Counter, CounterAction>()

  @Test func isCalledForStoresThatAreRegisteredLater() async {
    dispatcher.register(interceptor: interceptor)
    for name in ["a", "b"] {
      let store = dispatcher.register(store: .counter(name))
      _ = await store.dispatch(.add(1)).result
    }
    #expect(interceptor.interceptions.map(\.storeIdentifier) == ["a", "b"])
  }

  @Test func isCalledForOneStoreOnlyWhereThatIsGiven() async {
    let (one, other) = (
      dispatcher.register(store: .counter("one")), dispatcher.register(store: .counter("other"))
    )
    dispatcher.register(interceptor: interceptor, for: one)
    _ = await dispatcher.dispatch(action: CounterAction.add(1)).result
    _ = await other.dispatch(.add(1)).result
    #expect(interceptor.interceptions.map(\.storeIdentifier) == ["one"])
  }

  /// Intercepts while it is open.
  private final class Choosy: Interceptor {
    let isOpen: Latch
    let handled = Recorder<String>()

    init(_ isOpen: Latch) { self.isOpen = isOpen }

    func intercepts(_ store: AnyStore) -> Bool { isOpen.isOpen }

    func didHandle<Model, Action>(_ interception: Interception<Model, Action>) {
      handled.record("\(interception.action)")
    }
  }

  @Test func decidesForEachActionWhenThatIsDispatched() async {
    let store = dispatcher.register(store: .counter())
    let choosy = Choosy(Latch())
    dispatcher.register(interceptor: choosy)
    _ = await store.dispatch(.add(1)).result
    dispatcher.queue.isSuspended = true
    let handle = store.dispatch(.add(2))
    choosy.isOpen.open()
    let next = store.dispatch(.add(3))
    dispatcher.queue.isSuspended = false
    _ = (await handle.result, await next.result)
    #expect(choosy.handled.all == ["add(3)"])
  }

  @Test func isCalledOnceHoweverOftenItIsRegistered() async {
    let store = dispatcher.register(store: .counter())
    let interceptor = interceptor
    let dispatcher = dispatcher
    await onOwnThreads(4) { _ in dispatcher.register(interceptor: interceptor) }
    #expect(dispatcher.interceptors.count == 1)
    _ = await store.dispatch(.add(1)).result
    #expect(interceptor.actions == [.add(1)])
  }

  @Test func isCalledNoLongerOnceItIsUnregistered() async {
    let store = dispatcher.register(store: .counter())
    dispatcher.register(interceptor: interceptor)
    dispatcher.register(interceptor: interceptor, for: store)
    _ = await store.dispatch(.add(1)).result
    #expect(interceptor.actions.count == 2)
    #expect(dispatcher.unregister(interceptor: interceptor))
    #expect(!dispatcher.unregister(interceptor: interceptor))
    _ = await store.dispatch(.add(1)).result
    #expect(interceptor.actions.count == 2)
    #expect(dispatcher.middlewares.isEmpty)
  }

  @Test func severalAreCalledInReverseOrderOfRegistration() async {
    let store = dispatcher.register(store: .counter())
    let steps = Recorder<String>()
    for name in ["first", "second"] {
      dispatcher.register(
        interceptor: StoreInterceptor<Counter, CounterAction> { _ in steps.record(name) })
    }
    _ = await store.dispatch(.add(1)).result
    #expect(steps.all == ["second", "first"])
  }

  private struct Held: Sendable {
    var signal: DeinitSignal?
    var count = 0
  }

  private func heldStore(_ signal: DeinitSignal) -> Store<Held, CounterAction> {
    dispatcher.register(
      store: Store(
        identifier: "held", model: Held(signal: signal),
        reducer: FunctionReducer<Held, CounterAction> { held, _ in held.count += 1 }))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func keepsNoModelBetweenActions(_ mode: Dispatcher.Mode) async {
    let released = Latch()
    let store = heldStore(DeinitSignal(released))
    dispatcher.register(interceptor: StoreInterceptor<Held, CounterAction> { _ in })
    for _ in 0..<3 { _ = await store.dispatch(.add(1), mode: mode).result }
    store.updateModel { $0.signal = nil }
    await released.opened()
  }

  @Test func keepsNoModelOnceItIsUnregistered() async {
    let released = Latch()
    let store = heldStore(DeinitSignal(released))
    let all = StoreInterceptor<Held, CounterAction> { _ in }
    dispatcher.register(interceptor: all)
    _ = await store.dispatch(.add(1)).result
    dispatcher.unregister(interceptor: all)
    store.updateModel { $0.signal = nil }
    await released.opened()
  }

  @Test func keepsNoStoreAlive() async {
    let released = Latch()
    dispatcher.register(interceptor: interceptor)
    do {
      let all = StoreInterceptor<Held, CounterAction> { _ in }
      let store = heldStore(DeinitSignal(released))
      dispatcher.register(interceptor: all, for: store)
      _ = await store.dispatch(.add(1)).result
      dispatcher.unregister(store: store)
      store.updateModel { $0.signal = nil }
    }
    await released.opened()
  }

  /// Threads that change both stores at once, and interceptors that come and go.
  @Test func eachOfManyContendingActionsIsInterceptedOnceWithItsOwnModels() async {
    let (dispatcher, interceptor) = (dispatcher, interceptor)
    let stores = ["a", "b"].map { dispatcher.register(store: .counter($0)) }
    dispatcher.register(interceptor: interceptor)
    let rounds = Load.count(500)
    await onOwnThreads(4) { index in
      for round in 0..<rounds {
        let store = stores[(index + round) % 2]
        store.dispatch(.add(index + 1), mode: .sync)
        guard index == 0, round % 50 == 0 else { continue }
        let other = StoreInterceptor<Counter, CounterAction> { _ in }
        dispatcher.register(interceptor: other)
        store.dispatch(.add(1), mode: .sync)
        dispatcher.unregister(interceptor: other)
      }
    }
    for store in stores {
      let all = interceptor.interceptions.filter { $0.storeIdentifier == store.identifier }
        .sorted { $0.newVersion < $1.newVersion }
      #expect(all.map(\.newVersion) == Array(1...store.version))
      #expect(all.allSatisfy { $0.oldVersion == $0.newVersion - 1 && $0.commitCount == 1 })
      #expect(
        all.allSatisfy { $0.action == .add($0.newModel.count - $0.oldModel.count) })
    }
  }
}
