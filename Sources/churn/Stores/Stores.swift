import DispatchStore

/// The four stores and their dispatcher.
struct Stores: Sendable {
  let dispatcher = Dispatcher(name: "churn")
  let files: FilesStore
  let authors: AuthorsStore
  let folders: FoldersStore
  let days: DaysStore
  /// The open database; nil if the replay is not saved.
  private(set) var persistence: Persistence?

  /// Makes the stores of a replay.
  init(hooks: [Hook] = []) {
    self.init(unregistered: Models())
    dispatcher.register(store: files)
    dispatcher.register(store: authors, waitFor: ["files"])
    dispatcher.register(store: folders)
    dispatcher.register(store: days)
    for hook in hooks { dispatcher.register(hook) }
  }

  /// Makes the stores of a replay that is saved, with the state in which the last run has left them.
  ///
  /// - Parameter open: Opens the database for the dispatcher.
  init(
    hooks: [Hook], savedBy open: (Dispatcher) async throws -> Persistence, _ progress: SavedProgress
  ) async throws {
    self.init(
      unregistered: Models(
        files: FilesModel(progress: progress), authors: AuthorsModel(progress: progress),
        folders: FoldersModel(progress: progress), days: DaysModel(progress: progress)))
    persistence = try await open(dispatcher)
    try await dispatcher.register(store: files, persisted: .elements(\.files))
    try await dispatcher.register(
      store: authors, waitFor: ["files"], persisted: .elements(\.authors))
    try await dispatcher.register(store: folders, persisted: .elements(\.churn))
    try await dispatcher.register(store: days, persisted: .elements(\.commits))
    for hook in hooks { dispatcher.register(hook) }
  }

  private init(unregistered models: Models) {
    // By name, so that a recorder keeps what an action changes, and no copy of a dictionary.
    files = Store(identifier: "files", model: models.files, reducer: FilesReducer())
      .undoesInPlace(\.files)
    authors = Store(
      identifier: "authors", model: models.authors, reducer: AuthorsReducer(files: files)
    ).undoesInPlace(\.authors)
    folders = Store(identifier: "folders", model: models.folders, reducer: FoldersReducer())
      .undoesInPlace(\.churn)
    days = Store(identifier: "days", model: models.days, reducer: DaysReducer())
      .undoesInPlace(\.commits)
  }

  /// The present models of the stores.
  var models: Models {
    Models(files: files.model, authors: authors.model, folders: folders.model, days: days.model)
  }
}
