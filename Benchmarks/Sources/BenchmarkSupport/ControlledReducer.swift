public import DispatchStore

/// Returns an operation that its block finishes, after one commit through the operation.
public final class ControlledReducer: Reducer<Counter, Add> {
  override public func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { operation, action, _ in
      operation.updateModel { $0.add(Int(action.amount)) }
      operation.finish()
    }
  }
}
