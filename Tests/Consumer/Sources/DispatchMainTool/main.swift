import DispatchStore
import Foundation

/// A command-line tool that stays alive with `dispatchMain()`: prints 1, 2 and 3, and ends.
struct Counter: ModelType {
  enum Action: ActionType { case increase }
  var count = 0
}

final class CounterReducer: Reducer<Counter, Counter.Action> {
  override func reduce(into model: inout Counter, action: Counter.Action) {
    model.count += 1
  }
}

let counter = Dispatcher.default.register(store: Store(reducer: CounterReducer()))
let token = counter.observe(.part(\.count), on: .main) { change in
  print(change.value)
  if change.value == 3 { exit(0) }
}
counter.dispatch(.increase, mode: .mainThread)
counter.dispatch(.increase, mode: .mainThread) { _ in
  counter.dispatch(.increase, mode: .async)
}
withExtendedLifetime(token) { dispatchMain() }
