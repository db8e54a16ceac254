import DispatchStore

typealias FilesStore = Store<FilesModel, Changed>

/// Applies changes to their paths.
final class FilesReducer: Reducer<FilesModel, Changed> {
  override func reduce(into model: inout FilesModel, action: Changed) {
    if model.begins(action.number) { model.take(action.change) }
  }
}
