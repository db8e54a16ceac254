public import DispatchStore

/// Makes a plain reduction, after another store's for the same action.
public final class WaitingReducer: Reducer<Counter, Add> {
  private let prerequisite: String

  /// Makes a reducer whose store waits for another one.
  public init(for prerequisite: String) {
    self.prerequisite = prerequisite
  }

  override public func waitFor(
    for action: Add, in store: Store<Counter, Add>, declared: WaitFor
  ) -> WaitFor {
    WaitFor([prerequisite])
  }

  override public func reduce(into counter: inout Counter, action: Add) {
    counter.add(Int(action.amount))
  }
}
