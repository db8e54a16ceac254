/// The figures that a replay ends with, by the names that `--json` gives them.
enum Figure: String, CaseIterable, Sendable {
  case commits, changes
  case commitsByAuthor, addedByAuthor, deletedByAuthor, takeoversByAuthor
  case linesByFile, lastAuthorByFile
  case churnByFolder, commitsByDay

  /// Whether the figure depends on the order in which changes are applied.
  var dependsOnOrder: Bool { self == .takeoversByAuthor || self == .lastAuthorByFile }
}
