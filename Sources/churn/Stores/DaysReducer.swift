import DispatchStore

typealias DaysStore = Store<DaysModel, Committed>

/// Counts the commits of each day.
final class DaysReducer: Reducer<DaysModel, Committed> {
  override func reduce(into model: inout DaysModel, action: Committed) {
    if model.begins(action.number, endOf: action.commit.hash) { model.take(action.commit) }
  }
}
