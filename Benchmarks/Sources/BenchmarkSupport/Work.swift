public import DispatchStore

/// An action that keeps a processor busy, then adds one.
public struct Work: ActionType {
  /// For how many iterations of `BusyWork`.
  public let iterations: Int

  /// Makes an action.
  public init(iterations: Int) {
    self.iterations = iterations
  }
}

/// Returns an operation that works outside the store's lock, and then makes one commit.
public final class WorkReducer: Reducer<Counter, Work> {
  override public func operation(
    for action: Work, in store: Store<Counter, Work>
  ) -> ActionOperation<Counter, Work> {
    ActionOperation(action: action, store: store) { action, store in
      BusyWork.run(action.iterations)
      store.updateModel { $0.add(1) }
    }
  }
}
