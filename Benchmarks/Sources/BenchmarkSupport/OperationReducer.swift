public import DispatchStore

/// Returns an operation whose block makes one commit, with the same reduction.
public final class OperationReducer: Reducer<Counter, Add> {
  override public func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { action, store in
      store.updateModel { $0.add(Int(action.amount)) }
    }
  }
}
