/// The models of all four stores, which every replay ends with.
struct Models: Equatable, Sendable {
  var files = FilesModel()
  var authors = AuthorsModel()
  var folders = FoldersModel()
  var days = DaysModel()

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
