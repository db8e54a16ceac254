import DispatchStore
import DispatchStoreTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StateRecorderTests {
  private struct Add: ActionType, Equatable { let amount: Int }
  private struct Other: ActionType {}

  private let dispatcher = Dispatcher()
  private let recorder = StateRecorder<Int, Add>()

  init() {
    dispatcher.register(recorder.hook)
    dispatcher.register(
      store: Store(
        model: 0,
        reducer: FunctionReducer<Int, Add> { count, action in count += action.amount }))
    dispatcher.register(
      store: Store(model: 0, reducer: FunctionReducer<Int, Other> { count, _ in count += 1 }))
  }

  @Test func recordsActionsAndModelsOfItsTypesInTheOrderOfTheirEnds() async {
    for amount in 1...3 { _ = await dispatcher.dispatch(action: Add(amount: amount)).result }
    _ = await dispatcher.dispatch(action: Other()).result
    #expect(recorder.actions == [Add(amount: 1), Add(amount: 2), Add(amount: 3)])
    #expect(recorder.changes.map(\.oldModel) == [0, 1, 3])
    #expect(recorder.changes.map(\.newModel) == [1, 3, 6])
    recorder.removeAll()
    #expect(recorder.entries.isEmpty)
  }

  @Test func entriesAreAwaitedByNumber() async {
    let dispatcher = dispatcher
    async let found = recorder.entries(atLeast: 20)
    for _ in 0..<20 { dispatcher.dispatch(action: Add(amount: 1), mode: .serial) }
    #expect(await found.map(\.newModel) == Array(1...20))
  }
}
