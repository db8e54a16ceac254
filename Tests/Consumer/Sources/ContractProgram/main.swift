import DispatchStore
import Foundation

struct Counter: ModelType {
  enum Action: ActionType { case increase, decrease }
  var count: Int = 0
}

class CounterReducer: Reducer<Counter, Counter.Action> {
  override func operation(
    for action: Counter.Action, in store: Store<Counter, Counter.Action>
  ) -> ActionOperation<Counter, Counter.Action> {
    switch action {
    case .increase:
      return ActionOperation(action: action, store: store) { operation, _, store in
        store.updateModel { $0.count += 1 }
        operation.finish()
      }
    case .decrease:
      return ActionOperation(action: action, store: store) { operation, _, store in
        store.updateModel { $0.count -= 1 }
        operation.finish()
      }
    }
  }
}

extension DispatchStore {
  var counterStore: Store<Counter, Counter.Action> {
    if let store = self.store(with: "counter") as? Store<Counter, Counter.Action> { return store }
    let store = Store<Counter, Counter.Action>(identifier: "counter", reducer: CounterReducer())
    register(store: store)
    return store
  }
}

let counter = DispatchStore.default.counterStore
DispatchStore.dispatch(action: Counter.Action.increase, mode: .sync)
DispatchStore.dispatch(action: Counter.Action.increase, mode: .serial) {
  DispatchStore.dispatch(action: Counter.Action.decrease, mode: .serial) {
    print(counter.model.count)
    exit(0)
  }
}
RunLoop.main.run()
