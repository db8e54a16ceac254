import DispatchStore

/// A counter: the smallest model, with a reducer that only changes it.
struct Counter: ModelType {
  enum Action: ActionType { case increase, decrease }
  var count = 0
}

final class CounterReducer: Reducer<Counter, Counter.Action> {
  override func reduce(into model: inout Counter, action: Counter.Action) {
    switch action {
    case .increase: model.count += 1
    case .decrease: model.count -= 1
    }
  }
}

func countToOne() -> Int {
  let dispatcher = Dispatcher()
  let counter = dispatcher.register(store: Store(reducer: CounterReducer()))
  counter.dispatch(.increase, mode: .sync)
  return counter.model.count
}
