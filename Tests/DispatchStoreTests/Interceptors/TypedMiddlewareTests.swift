import DispatchStore
import Testing

/// Middlewares by action type, by store type, and of one store.
@Suite(.timeLimit(.minutes(10)))
struct TypedMiddlewareTests {
  private let dispatcher = Dispatcher()

  private struct Other: ActionType {}

  private func registerOther() -> Store<Int, Other> {
    dispatcher.register(
      store: Store(
        identifier: "other", model: 0,
        reducer: FunctionReducer<Int, Other> {
          $0 += 1; _ = $1
        }))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func passesReplacesAndVetoesActionsOfItsType(_ mode: Dispatcher.Mode) async {
    let counter = dispatcher.register(store: .counter("counter"))
    let other = registerOther()
    dispatcher.register(
      middleware: .on(CounterAction.self) { action, _ in
        switch action {
        case .add(let amount) where amount > 100: .veto(reason: "too much")
        case .add(let amount) where amount > 10: .replace(with: .add(10))
        default: .pass
        }
      })
    var outcomes: [StoreOutcome] = []
    for amount in [1, 50, 500] {
      outcomes.append(await counter.dispatch(.add(amount), mode: mode).result["counter"])
    }
    #expect(await other.dispatch(Other(), mode: mode).result.isSuccess)
    #expect(counter.model.count == 11)
    #expect(other.model == 1)
    #expect(outcomes[2].veto?.reason == "too much")
    #expect(outcomes[2].veto?.middleware is ActionMiddleware<CounterAction>)
  }

  @Test func afterGetsTheActionThatRanWithItsOutcome() async {
    let counter = dispatcher.register(store: .counter("counter"))
    let steps = Recorder<String>()
    dispatcher.register(
      middleware: .on(CounterAction.self) { action, context in
        steps.record("before \(action) \(context.outcome == nil)")
        return .replace(with: .add(7))
      } after: { action, context in
        steps.record("after \(action) \(context.outcome.map(String.init(describing:)) ?? "")")
      })
    _ = await counter.dispatch(.add(1)).result
    #expect(steps.all == ["before add(1) true", "after add(7) finished"])
  }

  @Test func ofAStoreTypeGetsTheStoresOfThatType() async {
    let counter = dispatcher.register(store: .counter("counter"))
    let other = registerOther()
    let steps = Recorder<String>()
    dispatcher.register(
      middleware: .on(CounterStore.self) { action, store, _ in
        steps.record("before \(store.identifier) \(store.model.count)")
        return .pass
      } after: { action, store, _ in
        steps.record("after \(store.identifier) \(store.model.count)")
      })
    _ = await counter.dispatch(.add(2)).result
    _ = await other.dispatch(Other()).result
    #expect(steps.all == ["before counter 0", "after counter 2"])
  }

  @Test func ofOneStoreGetsThatAlone() async {
    let counters = ["a", "b"].map { dispatcher.register(store: .counter($0)) }
    dispatcher.register(middleware: .on(counters[0]) { _, _, _ in .veto(reason: "closed") })
    let result = await dispatcher.dispatch(action: CounterAction.add(1)).result
    #expect(result["a"].veto?.reason == "closed")
    #expect(counters.map(\.model.count) == [0, 1])
  }

  @Test func anErrorFailsTheStoreRun() async {
    let counter = dispatcher.register(store: .counter("counter"))
    dispatcher.register(middleware: .on(counter) { _, _, _ in throw CounterFailure() })
    let outcome = await counter.dispatch(.add(1)).result["counter"]
    #expect(outcome.errorCode == .middlewareFailed)
    #expect(outcome.dispatchError?.cause is CounterFailure)
  }

  @Test func isUnregisteredByInstanceAndByType() async {
    let counter = dispatcher.register(store: .counter("counter"))
    let veto = ActionMiddleware<CounterAction>(before: { _, _ in .veto(reason: "all") })
    dispatcher.register(middleware: veto)
    dispatcher.register(middleware: .on(counter) { _, _, _ in .veto(reason: "all") })
    #expect(dispatcher.unregister(middleware: veto))
    #expect(
      dispatcher.unregister(
        middlewaresOfType: StoreMiddleware<Counter, CounterAction>.self
      ).count == 1)
    _ = await counter.dispatch(.add(1)).result
    #expect(counter.model.count == 1)
  }

  private class Event: ActionType, @unchecked Sendable {}
  private final class SpecialEvent: Event, @unchecked Sendable {}

  @Test func ofAClassGetsItsSubclassesToo() async {
    let store = dispatcher.register(
      store: Store(model: 0, reducer: FunctionReducer<Int, Event> { count, _ in count += 1 }))
    let steps = Recorder<Bool>()
    dispatcher.register(
      middleware: .on(
        Event.self, after: { event, _ in steps.record(event is SpecialEvent) }))
    _ = await store.dispatch(SpecialEvent()).result
    #expect(steps.all == [true])
  }
}
