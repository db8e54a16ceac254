public import DispatchStore

/// Makes a plain reduction.
public final class PlainReducer: Reducer<Counter, Add> {
  override public func reduce(into counter: inout Counter, action: Add) {
    counter.add(Int(action.amount))
  }
}
