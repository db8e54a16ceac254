import DispatchStore
import Testing

/// Sequences of actions to one store, which only reduces.
@Suite("Sequences of plain actions")
struct PlainSequenceTests {
  let dispatcher = Dispatcher()
  let store = CounterStore.counter()

  init() { dispatcher.register(store: store) }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func reduceEachActionOnceInOrderAndHaveAResultForEach(_ mode: Dispatcher.Mode) async throws {
    for round in 0..<3 {
      let actions = ["a", "b", "c"].map(CounterAction.note)
      let handle = dispatcher.dispatch(actions: actions, mode: mode)
      let result = try await handle.get()
      #expect(result.steps.count == 3)
      #expect(result.steps.allSatisfy { $0.stores.map(\.storeIdentifier) == [store.identifier] })
      #expect(Set(result.steps.map(\.dispatchID)).count == 3)
      #expect(store.model.notes.count == 3 * (round + 1))
      #expect(store.model.notes.suffix(3) == ["a", "b", "c"])
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func endWithTheReductionThatFails(_ mode: Dispatcher.Mode) async {
    let actions = [CounterAction.note("a"), .fail(1), .note("c")]
    let result = await dispatcher.dispatch(actions: actions, mode: mode).result
    #expect(result.error is CounterFailure)
    #expect(result.steps.map(\.isSuccess) == [true, false])
    #expect(result.skippedActionCount == 1)
    let others = await dispatcher.dispatch(
      actions: actions, mode: mode, options: .continuingOnFailure
    ).result
    #expect(others.steps.map(\.isSuccess) == [true, false, true])
    #expect(others.error is CounterFailure)
    #expect(store.model == Counter(count: 2, notes: ["a", "a", "c"]))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areTheCauseOfWhatObserversOfTheirActionsGet(_ mode: Dispatcher.Mode) async {
    let transactions = Recorder<DispatchID?>()
    let token = store.observe(.model) { transactions.record($0.dispatchID) }
    let actions = [CounterAction.note("a"), .note("b")]
    let handle = dispatcher.dispatch(actions: actions, mode: mode)
    let result = await handle.result
    #expect(transactions.all == result.steps.map(\.dispatchID))
    #expect(!result.steps.map(\.dispatchID).contains(handle.dispatchID))
    token.cancel()
  }
}
