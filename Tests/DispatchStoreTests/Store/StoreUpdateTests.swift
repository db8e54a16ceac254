import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StoreUpdateTests {
  private let store = CounterStore.counter("counter")

  @Test func aStoreStartsWithItsModelAndNoCommit() {
    #expect(store.model == Counter())
    #expect(store.version == 0)
    let given = CounterStore(model: Counter(count: 3), reducer: CounterReducer())
    #expect(given.model.count == 3)
    #expect(given.version == 0)
  }

  @Test func eachUpdateIsOneCommit() {
    let value = store.updateModel { model in
      model.count += 1
      model.notes.append("a")
      return "returned"
    }
    #expect(value == "returned")
    #expect(store.version == 1)
    store.updateModel { _ in }
    #expect(store.version == 2)
    #expect(store.model == Counter(count: 1, notes: ["a"]))
  }

  @Test func injectReplacesTheModelAndIsDelivered() {
    let changes = Recorder<Change<Counter, CounterAction>>()
    let token = store.observe(.model) { changes.record($0) }
    store.inject(model: Counter(count: 5))
    store.inject(model: Counter(count: 6), action: .add(6))
    #expect(store.model.count == 6)
    #expect(changes.all.map(\.value.count) == [5, 6])
    #expect(changes.all.map(\.action) == [nil, .add(6)])
    #expect(changes.all.map(\.version) == [1, 2])
    #expect(changes.all.allSatisfy { $0.dispatchID == nil })
    token.cancel()
  }

  /// The former model's deinitialiser is code of the program, which may change stores outside of sections only.
  @Test(arguments: [false, true])
  func injectReleasesTheFormerModelWithNoLockHeld(isObserved: Bool) {
    let parts = Store(model: [Mortal { [store] in store.updateModel { $0.count += 1 } }]) {}
    let token = isObserved ? parts.observe(.model) { _ in } : nil
    parts.inject(model: [])
    #expect(parts.model.isEmpty && parts.version == 1)
    #expect(store.model.count == 1)
    withExtendedLifetime(token) {}
  }

  @Test func anUpdateThatThrowsIsCommittedAndDeliveredAndTheErrorIsThrownOn() {
    let changes = Recorder<Int>()
    let token = store.observe(.model) { changes.record($0.value.count) }
    #expect(throws: CounterFailure(amount: 4)) {
      try store.updateModel { model in
        model.count = 4
        throw CounterFailure(amount: 4)
      }
    }
    #expect(store.model.count == 4)
    #expect(store.version == 1)
    #expect(changes.all == [4])
    // The store takes further commits.
    store.updateModel { $0.count += 1 }
    #expect(changes.all == [4, 5])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReductionThatThrowsIsCommittedAndDeliveredAndFails(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    dispatcher.register(store: store)
    let changes = Recorder<Change<Counter, CounterAction>>()
    let token = store.observe(.model) { changes.record($0) }
    let result = await dispatcher.dispatch(action: CounterAction.fail(2), mode: mode).result
    #expect(result.error as? CounterFailure == CounterFailure(amount: 2))
    #expect(store.model.count == 2)
    #expect(changes.all.map(\.value.count) == [2])
    #expect(changes.all.first?.action == .fail(2))
    token.cancel()
  }

  @Test func withModelReadsAndPassesOnWhatTheClosureReturnsOrThrows() {
    store.updateModel { $0.notes = ["a", "b"] }
    #expect(store.withModel { $0.notes.count } == 2)
    #expect(throws: CounterFailure()) { try store.withModel { _ in throw CounterFailure() } }
    #expect(store.version == 1, "Reading is no commit.")
    store.updateModel { $0.count = 1 }
    #expect(store.withModel { $0.count } == 1)
  }

  @Test func updatesFromManyThreadsLoseNothing() async {
    let store = store
    await onOwnThreads(8) { _ in
      for _ in 0..<500 { store.updateModel { $0.count += 1 } }
    }
    #expect(store.model.count == 4_000)
    #expect(store.version == 4_000)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func dispatchesFromManyThreadsLoseNothing(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: store)
    let ends = Recorder<Bool>()
    await onOwnThreads(8) { _ in
      for _ in 0..<100 {
        dispatcher.dispatch(CounterAction.add(1), mode: mode) {
          ends.record($0.isSuccess)
        }
      }
    }
    #expect(await ends.first(800).allSatisfy { $0 })
    #expect(ends.count == 800)
    #expect(store.model.count == 800)
    #expect(store.version == 800)
  }
}
