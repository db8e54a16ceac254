/// The models of all four stores, which every replay ends with.
struct Models: Equatable, Sendable {
  var files = FilesModel()
  var authors = AuthorsModel()
  var folders = FoldersModel()
  var days = DaysModel()

  init() {}

  /// The models at the beginning of a replay that is saved.
  init(progress: SavedProgress?) {
    files = FilesModel(progress: progress)
    authors = AuthorsModel(progress: progress)
    folders = FoldersModel(progress: progress)
    days = DaysModel(progress: progress)
  }

  init(files: FilesModel, authors: AuthorsModel, folders: FoldersModel, days: DaysModel) {
    (self.files, self.authors, self.folders, self.days) = (files, authors, folders, days)
  }

  /// How far each model has come in a saved replay; empty if the replay is not saved.
  var progresses: [SavedProgress] {
    [files.progress, authors.progress, folders.progress, days.progress].compactMap(\.self)
  }

  /// Applies an event as the stores do: `authors` after `files`.
  mutating func take(_ event: Event) {
    switch event {
    case .changed(let change):
      files.take(change)
      authors.take(change, isTakeover: files.isTakeover(change))
      folders.take(change)
    case .committed(let commit):
      authors.take(commit)
      days.take(commit)
    }
  }
}
