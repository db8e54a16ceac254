import DispatchStore

/// The four stores and their dispatcher.
struct Stores: Sendable {
  let dispatcher: Dispatcher
  private let files: FilesStore
  private let authors: AuthorsStore
  private let folders: FoldersStore
  private let days: DaysStore

  init(middlewares: [any Middleware] = []) {
    dispatcher = Dispatcher(name: "churn")
    files = Store(identifier: "files", model: FilesModel(), reducer: FilesReducer())
    authors = Store(
      identifier: "authors", model: AuthorsModel(), reducer: AuthorsReducer(files: files))
    folders = Store(identifier: "folders", model: FoldersModel(), reducer: FoldersReducer())
    days = Store(identifier: "days", model: DaysModel(), reducer: DaysReducer())

    dispatcher.register(store: files)
    dispatcher.register(store: authors, waitFor: ["files"])
    dispatcher.register(store: folders)
    dispatcher.register(store: days)
    for middleware in middlewares { dispatcher.register(middleware: middleware) }
  }

  /// The present models of the stores.
  var models: Models {
    Models(files: files.model, authors: authors.model, folders: folders.model, days: days.model)
  }
}
