public import DispatchStore

/// Returns an operation whose `async` block yields once, and then makes one commit.
public final class YieldingReducer: Reducer<Counter, Add> {
  override public func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { action, store in
      await Task.yield()
      store.updateModel { $0.add(Int(action.amount)) }
    }
  }
}
