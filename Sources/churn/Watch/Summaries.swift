import DispatchStore

// The parts of each store that the board shows. The selectors read a model to its end, in the store's exclusive
// section. That takes less time than copying the dictionary, which a commit would do if the summary kept it.
// `RateLimiter` bounds how often they do.

extension FilesModel {
  /// The files that exist, and the biggest of them.
  struct Summary: Equatable, Sendable {
    var changes = 0
    var files = 0
    /// The lines of the files whose lines are known.
    var lines = 0
    var biggest = Ranking<Path>()
  }

  static let summary = StateSelector<FilesModel, Summary> { model in
    var summary = Summary(changes: model.changes)
    for (path, file) in model.files where file.exists {
      summary.files += 1
      guard case .lines(let lines) = file.size else { continue }
      summary.lines += lines
      summary.biggest.add(path, lines)
    }
    return summary
  }
}

extension AuthorsModel {
  /// The authors, with the ones that have the most commits.
  struct Summary: Equatable, Sendable {
    var authors = 0
    var commits = 0
    var takeovers = 0
    var busiest = Ranking<ByteString>()
  }

  static let summary = StateSelector<AuthorsModel, Summary> { model in
    var summary = Summary(authors: model.authors.count)
    for (name, author) in model.authors {
      summary.commits += author.commits
      summary.takeovers += author.takeovers
      summary.busiest.add(name, author.commits)
    }
    return summary
  }
}

extension FoldersModel {
  /// The folders, with the ones that have the most churn.
  struct Summary: Equatable, Sendable {
    var folders = 0
    var busiest = Ranking<Path>()
  }

  static let summary = StateSelector<FoldersModel, Summary> { model in
    var summary = Summary(folders: model.churn.count)
    for (folder, lines) in model.churn { summary.busiest.add(folder, lines) }
    return summary
  }
}

extension DaysModel {
  /// The days with commits, with the ones that have the most.
  struct Summary: Equatable, Sendable {
    var days = 0
    var busiest = Ranking<Day>()
  }

  static let summary = StateSelector<DaysModel, Summary> { model in
    var summary = Summary(days: model.commits.count)
    for (day, commits) in model.commits { summary.busiest.add(day, commits) }
    return summary
  }
}
