/// The contents of the board at one moment.
struct BoardFrame: Equatable, Sendable {
  var title: ReplayTitle
  /// The commits of all copies together.
  var allCommits: Int
  var files = FilesModel.Summary()
  var authors = AuthorsModel.Summary()
  var folders = FoldersModel.Summary()
  var days = DaysModel.Summary()
  /// Changes and commits per second.
  var rate = 0.0
  /// The rate from frame to frame, the newest at the end.
  var rates: [Double] = []
  /// The time since the replay began, in nanoseconds.
  var elapsed: UInt64 = 0
  /// The number of actions in flight; nil in modes in which each producer has one.
  var inFlight: Int?

  /// The number of actions that the stores have applied.
  var actions: Int { authors.commits + files.changes }

  /// The progress, from 0 to 1.
  var progress: Double {
    allCommits > 0 ? Double(authors.commits) / Double(allCommits) : 1
  }
}
