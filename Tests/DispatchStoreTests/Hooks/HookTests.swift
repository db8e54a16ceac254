import DispatchStore
import Testing

/// Hooks before and after actions of one type, or of one store.
@Suite(.timeLimit(.minutes(10)))
struct HookTests {
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
    let hook = dispatcher.register(
      .before(CounterAction.self) { action, _ in
        switch action {
        case .add(let amount) where amount > 100: .veto(reason: "too much")
        case .add(let amount) where amount > 10: .replace(with: CounterAction.add(10))
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
    #expect(outcomes[2].veto?.middleware === hook)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func hasActionsInTheirWrapping(_ mode: Dispatcher.Mode) async {
    let store = dispatcher.register(
      store: Store(identifier: "raised", model: 0) {
        On(Raise.self) { number, action in number += action.by }
      })
    let ran = Recorder<Int>()
    dispatcher.register(
      .before(Raise.self) { action, _ in
        action.by > 100 ? .veto(reason: "too much") : .replace(with: Raise(by: action.by + 1))
      })
    dispatcher.register(.after(Raise.self) { action, _ in ran.record(action.by) })
    for amount in [1, 500] {
      await dispatcher.dispatch(HandledAction(Raise(by: amount)), mode: mode).ended()
    }
    #expect(store.model == 2)
    #expect(ran.all == [2])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func afterGetsTheActionThatRanWithItsOutcome(_ mode: Dispatcher.Mode) async {
    let counter = dispatcher.register(store: .counter("counter"))
    let steps = Recorder<String>()
    dispatcher.register(
      .before(CounterAction.self) { action, dispatch in
        steps.record("before \(action) \(dispatch.mode == mode)")
        return .replace(with: CounterAction.add(7))
      })
    dispatcher.register(
      .after(CounterAction.self) { action, run in
        steps.record("after \(action) \(run.action) \(run.outcome)")
      })
    _ = await counter.dispatch(.add(1), mode: mode).result
    #expect(steps.all == ["before add(1) true", "after add(7) add(7) finished"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofOneStoreGetsThatAlone(_ mode: Dispatcher.Mode) async {
    let counters = ["a", "b"].map { dispatcher.register(store: .counter($0)) }
    let outcomes = Recorder<String>()
    dispatcher.register(.after(counters[0]) { _, run in outcomes.record("\(run.outcome)") })
    dispatcher.register(.before(counters[0]) { _, _ in .veto(reason: "closed") })
    let result = await dispatcher.dispatch(action: CounterAction.add(1), mode: mode).result
    #expect(result["a"].veto?.reason == "closed")
    #expect(counters.map(\.model.count) == [0, 1])
    #expect(outcomes.all == ["vetoed by ActionHook<CounterAction>: closed"])
  }

  @Test func anErrorBeforeFailsTheStoreRunAndOneAfterIsAWarning() async {
    let counter = dispatcher.register(store: .counter("counter"))
    let warnings = Recorder<DispatchWarning>()
    dispatcher.onWarning { warnings.record($0) }
    dispatcher.register(.after(CounterAction.self) { _, _ in throw CounterFailure() })
    dispatcher.register(.before(counter) { _, _ in throw CounterFailure() })
    let outcome = await counter.dispatch(.add(1)).result["counter"]
    #expect(outcome.errorCode == .middlewareFailed)
    #expect(outcome.dispatchError?.cause is CounterFailure)
    #expect(warnings.all.map(\.kind) == [.middlewareFailed])
  }

  @Test func isUnregisteredByTheMiddlewareThatRegisterReturns() async {
    let counter = dispatcher.register(store: .counter("counter"))
    let hooks = [
      dispatcher.register(.before(CounterAction.self) { _, _ in .veto(reason: "all") }),
      dispatcher.register(.before(counter) { _, _ in .veto(reason: "all") }),
    ]
    for hook in hooks { #expect(dispatcher.unregister(middleware: hook)) }
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
      .after(Event.self) { event, _ in steps.record(event is SpecialEvent) })
    _ = await store.dispatch(SpecialEvent()).result
    #expect(steps.all == [true])
  }
}
