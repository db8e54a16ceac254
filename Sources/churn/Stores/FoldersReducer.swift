import DispatchStore

typealias FoldersStore = Store<FoldersModel, Changed>

/// Adds up the churn of each folder.
final class FoldersReducer: Reducer<FoldersModel, Changed> {
  override func reduce(into model: inout FoldersModel, action: Changed) {
    if model.begins(action.number) { model.take(action.change) }
  }
}
