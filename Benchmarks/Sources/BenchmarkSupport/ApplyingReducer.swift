public import DispatchStore

/// Applies each action: what an operation's block would do, without the operation.
public final class ApplyingReducer: Reducer<Counter, Add> {
  override public func apply(_ action: Add, to store: Store<Counter, Add>) {
    store.updateModel { $0.add(Int(action.amount)) }
  }
}
