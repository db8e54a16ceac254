import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// For which stores a hook with states is called, for how long, and what it keeps.
@Suite(.timeLimit(.minutes(10)))
struct StatesHookRegistrationTests {
  private let dispatcher = Dispatcher()
  private let recorder = StateRecorder<Counter, CounterAction>()

  @Test func isCalledForStoresThatAreRegisteredLater() async {
    dispatcher.register(recorder.hook)
    for name in ["a", "b"] {
      let store = dispatcher.register(store: .counter(name))
      _ = await store.dispatch(.add(1)).result
    }
    #expect(recorder.entries.map(\.storeIdentifier) == ["a", "b"])
  }

  @Test func isCalledForItsStoreOnly() async {
    let (one, other) = (
      dispatcher.register(store: .counter("one")), dispatcher.register(store: .counter("other"))
    )
    let counts = Recorder<Int>()
    dispatcher.register(.states(of: one) { _, new, _ in counts.record(new.count) })
    _ = await dispatcher.dispatch(action: CounterAction.add(1)).result
    _ = await other.dispatch(.add(1)).result
    #expect(counts.all == [1])
    #expect(other.model.count == 2)
  }

  @Test func isCalledOnceHoweverOftenItIsRegistered() async {
    let store = dispatcher.register(store: .counter())
    let (dispatcher, hook) = (dispatcher, recorder.hook)
    await onOwnThreads(4) { _ in dispatcher.register(hook) }
    #expect(dispatcher.middlewares.count == 1)
    _ = await store.dispatch(.add(1)).result
    #expect(recorder.actions == [.add(1)])
  }

  @Test func isCalledNoLongerOnceItIsUnregistered() async {
    let store = dispatcher.register(store: .counter())
    let counts = Recorder<Int>()
    let registered = [
      dispatcher.register(recorder.hook),
      dispatcher.register(.states(of: store) { _, new, _ in counts.record(new.count) }),
    ]
    _ = await store.dispatch(.add(1)).result
    for middleware in registered { #expect(dispatcher.unregister(middleware: middleware)) }
    #expect(!dispatcher.unregister(middleware: registered[0]))
    _ = await store.dispatch(.add(1)).result
    #expect(recorder.actions.count == 1 && counts.all == [1])
    #expect(dispatcher.middlewares.isEmpty)
  }

  @Test func severalAreCalledInReverseOrderOfRegistration() async {
    let store = dispatcher.register(store: .counter())
    let steps = Recorder<String>()
    for name in ["first", "second"] {
      dispatcher.register(.states(of: store) { _, _, _ in steps.record(name) })
    }
    _ = await store.dispatch(.add(1)).result
    #expect(steps.all == ["second", "first"])
  }

  private struct Held: Sendable {
    var signal: Mortal?
    var count = 0
  }

  private func heldStore(
    _ signal: Mortal, ownership: StoreOwnership = .strong
  ) -> Store<Held, CounterAction> {
    dispatcher.register(
      store: Store(
        identifier: "held", model: Held(signal: signal),
        reducer: FunctionReducer<Held, CounterAction> { held, _ in held.count += 1 }),
      ownership: ownership)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func keepsNoModelBetweenActions(_ mode: Dispatcher.Mode) async {
    let released = Latch()
    let store = heldStore(Mortal(released))
    dispatcher.register(.states(of: store) { _, _, _ in })
    for _ in 0..<3 { _ = await store.dispatch(.add(1), mode: mode).result }
    store.updateModel { $0.signal = nil }
    await released.opened()
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, [false, true])
  func keepsNoModelOfAWeakStoreThatGoesBeforeItsTurn(
    _ mode: Dispatcher.Mode, prints: Bool
  ) async {
    let released = Latch()
    var store: Store<Held, CounterAction>? = heldStore(Mortal(released), ownership: .weak)
    if prints {
      dispatcher.register(.printing(timing: false) { _ in })
    } else {
      dispatcher.register(.states(of: store!) { _, _, _ in })
    }
    dispatcher.queue.isSuspended = true
    let handle = store!.dispatch(.add(1), mode: mode)
    store = nil
    dispatcher.queue.isSuspended = false
    #expect(await handle.result["held"].isCancelled)
    await released.opened()
  }

  @Test func keepsNoModelOnceItIsUnregistered() async {
    let released = Latch()
    let store = heldStore(Mortal(released))
    let hook = dispatcher.register(.states(of: store) { _, _, _ in })
    _ = await store.dispatch(.add(1)).result
    dispatcher.unregister(middleware: hook)
    store.updateModel { $0.signal = nil }
    await released.opened()
  }

  @Test func keepsNoStoreAlive() async {
    let released = Latch()
    dispatcher.register(.printing(timing: false) { _ in })
    do {
      let store = heldStore(Mortal(released))
      for _ in 0..<2 { dispatcher.register(.states(of: store) { _, _, _ in }) }
      dispatcher.register(.before(store) { _, _ in .pass })
      dispatcher.register(.after(store) { _, _ in })
      _ = await store.dispatch(.add(1)).result
      dispatcher.unregister(store: store)
      store.updateModel { $0.signal = nil }
    }
    await released.opened()
  }

  /// Threads that change both stores at once, and hooks that come and go.
  @Test func eachOfManyContendingActionsIsThereOnceWithItsOwnModels() async {
    let dispatcher = dispatcher
    let stores = ["a", "b"].map { dispatcher.register(store: .counter($0)) }
    dispatcher.register(recorder.hook)
    let rounds = Load.count(500)
    await onOwnThreads(4) { index in
      for round in 0..<rounds {
        let store = stores[(index + round) % 2]
        store.dispatch(.add(index + 1), mode: .sync)
        guard index == 0, round % 50 == 0 else { continue }
        let other = dispatcher.register(.states(of: store) { _, _, _ in })
        store.dispatch(.add(1), mode: .sync)
        dispatcher.unregister(middleware: other)
      }
    }
    for store in stores {
      let all = recorder.entries.filter { $0.storeIdentifier == store.identifier }
        .sorted { $0.newVersion < $1.newVersion }
      #expect(all.map(\.newVersion) == Array(1...store.version))
      #expect(all.allSatisfy { $0.oldVersion == $0.newVersion - 1 && $0.commitCount == 1 })
      #expect(
        all.allSatisfy { $0.action == .add($0.newModel.count - $0.oldModel.count) })
    }
  }
}
