import DispatchStore

/// The four stores and their dispatcher.
struct Stores: Sendable {
  let dispatcher: Dispatcher
  let files: FilesStore
  let authors: AuthorsStore
  let folders: FoldersStore
  let days: DaysStore

  /// - Parameter areFollowed: Whether the models keep their answers for observers of these.
  init(hooks: [Hook] = [], areFollowed: Bool = false) {
    dispatcher = Dispatcher(name: "churn")
    files = Store(
      identifier: "files", model: FilesModel(isFollowed: areFollowed), reducer: FilesReducer())
    authors = Store(
      identifier: "authors", model: AuthorsModel(isFollowed: areFollowed),
      reducer: AuthorsReducer(files: files))
    folders = Store(
      identifier: "folders", model: FoldersModel(isFollowed: areFollowed), reducer: FoldersReducer()
    )
    days = Store(
      identifier: "days", model: DaysModel(isFollowed: areFollowed), reducer: DaysReducer())

    dispatcher.register(store: files)
    dispatcher.register(store: authors, waitFor: ["files"])
    dispatcher.register(store: folders)
    dispatcher.register(store: days)
    for hook in hooks { dispatcher.register(hook) }
  }

  /// The present models of the stores.
  var models: Models {
    Models(files: files.model, authors: authors.model, folders: folders.model, days: days.model)
  }
}
