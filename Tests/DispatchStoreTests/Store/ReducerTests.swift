import DispatchStore
import Testing

private final class NeitherReducer: Reducer<Counter, CounterAction> {}

private final class QuietReducer: Reducer<Counter, CounterAction> {
  override func reduce(into model: inout Counter, action: CounterAction) throws {
    try CounterReducer().reduce(into: &model, action: action)
  }

  override func shouldNotifyObservers(for action: CounterAction, in store: CounterStore) -> Bool {
    if case .note = action { false } else { true }
  }
}

@Suite(.timeLimit(.minutes(10)))
struct ReducerTests {
  private let dispatcher = Dispatcher()

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReducerThatAnswersNothingFailsWithItsName(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: CounterStore(reducer: NeitherReducer()))
    let result = await dispatcher.dispatch(action: CounterAction.add(3), mode: mode).result
    #expect(result.errorCode == .reducerMissing)
    #expect((result.error as? DispatchError)?.message.contains("NeitherReducer") == true)
    #expect(store.model == Counter())
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReducerMayKeepObserversFromBeingNotifiedOfAnAction(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: CounterStore(reducer: QuietReducer()))
    let received = Recorder<CounterAction?>()
    let token = store.observe(.model) { received.record($0.action) }
    _ = await dispatcher.dispatch(
      actions: [CounterAction.add(1), CounterAction.note("quiet"), CounterAction.add(2)], mode: mode
    ).result
    #expect(received.all == [.add(1), .add(2)])
    #expect(store.model.notes == ["quiet"])
    #expect(store.version == 3)
    // Outside a dispatch there is no action that could be kept from them.
    store.updateModel { $0.count = 0 }
    store.inject(model: Counter(), action: .note("quiet"))
    #expect(received.all == [.add(1), .add(2), nil])
    token.cancel()
  }

  @Test func reducersAreCalledOnSeveralThreadsAtOnce() async {
    let dispatcher = dispatcher
    let inside = Recorder<Int>()
    let reducer = ClosureReducer<Int, Ping> { action, store in
      inside.record(1)
      // Each call waits for the other: one after the other would never end.
      inside.waitFor(2)
      return ActionOperation(action: action, store: store) { _, _ in }
    }
    dispatcher.register(store: ProbeStore(model: 0, reducer: reducer))
    let results = Recorder<Bool>()
    await onOwnThreads(2) { _ in
      dispatcher.dispatch(Ping(), mode: .sync) { results.record($0.isSuccess) }
    }
    #expect(results.all == [true, true])
  }
}
