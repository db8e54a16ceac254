import DispatchStore

/// The figures of a history, of all copies together or of one.
struct Answers: Equatable, Sendable {
  var commits = 0
  var changes = 0
  var commitsByAuthor: [ByteString: Int] = [:]
  var addedByAuthor: [ByteString: Int] = [:]
  var deletedByAuthor: [ByteString: Int] = [:]
  var takeoversByAuthor: [ByteString: Int] = [:]
  /// The paths that exist at the end.
  var linesByFile: [Path: FileSize] = [:]
  /// The last authors of the paths that exist at the end.
  var lastAuthorByFile: [Path: ByteString] = [:]
  var churnByFolder: [Path: Int] = [:]
  var commitsByDay: [Day: Int] = [:]
}

extension Answers {
  /// Computes the answers from the models that a replay ended with.
  init(_ models: Models) {
    let authors = models.authors.authors.dictionary
    commits = models.authors.commits
    changes = models.files.changes
    commitsByAuthor = authors.mapValues(\.commits)
    addedByAuthor = authors.mapValues(\.added)
    deletedByAuthor = authors.mapValues(\.deleted)
    takeoversByAuthor = authors.mapValues(\.takeovers)
    let existing = models.files.files.dictionary.filter { $0.value.exists }
    linesByFile = existing.mapValues(\.size)
    lastAuthorByFile = existing.mapValues(\.lastAuthor)
    churnByFolder = models.folders.churn.dictionary
    commitsByDay = models.days.commits.dictionary
  }
}
