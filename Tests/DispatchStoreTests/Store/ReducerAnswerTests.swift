import DispatchStore
import Foundation
import Testing

/// Which of its methods a reducer answers by.
@Suite("A reducer's answer", .timeLimit(.minutes(10)))
struct ReducerAnswerTests {
  let dispatcher = Dispatcher()

  @Test func anApplicationIsWhatItsOperationDoesInAQueueOfYourOwn() async {
    let desk = dispatcher.addDesk()
    let operation = ErrandReducer().operation(for: .adds("queued"), in: desk)
    let queue = OperationQueue()
    await onOwnThread {
      queue.addOperations([operation], waitUntilFinished: true)
    }
    #expect(operation.outcome?.isFinished == true)
    #expect(desk.model == ["queued"])
  }

  private final class OperationReducer: ErrandReducer {
    override func operation(
      for action: Errand, in store: Desk
    ) -> ActionOperation<[String], Errand> {
      if action.description == "applied" { return super.operation(for: action, in: store) }
      return ActionOperation(action: action, store: store) { _, store in
        store.updateModel { $0.append("operation") }
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func applyIsNotCalledWhereThereIsAnOperation(_ mode: Dispatcher.Mode) async {
    let desk = dispatcher.register(store: Desk(model: [], reducer: OperationReducer()))
    for name in ["operation", "applied"] {
      #expect(await dispatcher.dispatch(action: Errand.adds(name), mode: mode).result.isSuccess)
    }
    #expect(desk.model == ["operation", "applied"])
  }

  /// Answers as another reducer does, and counts.
  private final class WrappingReducer<Action: ActionType>: Reducer<Counter, Action> {
    let wrapped: Reducer<Counter, Action>

    init(_ wrapped: Reducer<Counter, Action>) { self.wrapped = wrapped }

    override func operation(
      for action: Action, in store: Store<Counter, Action>
    ) -> ActionOperation<Counter, Action> {
      store.updateModel { $0.notes.append("wrapped") }
      return wrapped.operation(for: action, in: store)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReducerMayAnswerAsAnotherOneDoes(_ mode: Dispatcher.Mode) async {
    let store = dispatcher.register(
      store: CounterStore(reducer: WrappingReducer(CounterReducer())))
    #expect(await dispatcher.dispatch(action: CounterAction.add(2), mode: mode).result.isSuccess)
    #expect(store.model == Counter(count: 2, notes: ["wrapped"]))
  }
}
