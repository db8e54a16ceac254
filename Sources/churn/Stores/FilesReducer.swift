import DispatchStore

typealias FilesStore = Store<FilesModel, Changed>

/// Keeps what the changes make of each path.
final class FilesReducer: Reducer<FilesModel, Changed> {
  override func reduce(into model: inout FilesModel, action: Changed) {
    model.take(action.change)
  }
}
