import DispatchStore
import Testing

private struct PlainText: ActionType {
  let text: String
  init(_ text: String) { self.text = text }
}

private struct PlainRefusal: Error {}

private final class PlainTexts: Reducer<[String], PlainText> {
  override func reduce(into texts: inout [String], action: PlainText) throws {
    texts.append(action.text)
    if action.text == "refused" { throw PlainRefusal() }
  }
}

/// Sequences of actions to one store, which only reduces.
@Suite("Sequences of plain actions")
struct PlainSequenceTests {
  let dispatcher = Dispatcher()
  private let store = Store(model: [String](), reducer: PlainTexts())

  init() { dispatcher.register(store: store) }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func reduceEachActionOnceInOrderAndHaveAResultForEach(_ mode: Dispatcher.Mode) async throws {
    for round in 0..<3 {
      let handle = dispatcher.dispatch(actions: ["a", "b", "c"].map(PlainText.init), mode: mode)
      let result = try await handle.get()
      #expect(result.steps.count == 3)
      #expect(result.steps.allSatisfy { $0.stores.map(\.storeIdentifier) == [store.identifier] })
      #expect(Set(result.steps.map(\.dispatchID)).count == 3)
      #expect(store.model.count == 3 * (round + 1))
      #expect(store.model.suffix(3) == ["a", "b", "c"])
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func endWithTheReductionThatFails(_ mode: Dispatcher.Mode) async {
    let actions = ["a", "refused", "c"].map(PlainText.init)
    let result = await dispatcher.dispatch(actions: actions, mode: mode).result
    #expect(result.error is PlainRefusal)
    #expect(result.steps.map(\.isSuccess) == [true, false])
    #expect(result.skippedActionCount == 1)
    let others = await dispatcher.dispatch(
      actions: actions, mode: mode, options: .continuingOnFailure
    ).result
    #expect(others.steps.map(\.isSuccess) == [true, false, true])
    #expect(others.error is PlainRefusal)
    #expect(store.model == ["a", "refused", "a", "refused", "c"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areTheCauseOfWhatObserversOfTheirActionsGet(_ mode: Dispatcher.Mode) async {
    let transactions = Recorder<DispatchID?>()
    let token = store.observe(.model) { transactions.record($0.dispatchID) }
    let handle = dispatcher.dispatch(actions: [PlainText("a"), PlainText("b")], mode: mode)
    let result = await handle.result
    #expect(transactions.all == result.steps.map(\.dispatchID))
    #expect(!result.steps.map(\.dispatchID).contains(handle.dispatchID))
    token.cancel()
  }
}
