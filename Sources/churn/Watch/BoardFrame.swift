/// What the board shows at one moment.
struct BoardFrame: Equatable, Sendable {
  var title: ReplayTitle
  /// Of all copies together.
  var allCommits: Int
  var files = FilesModel.Summary()
  var authors = AuthorsModel.Summary()
  var folders = FoldersModel.Summary()
  var days = DaysModel.Summary()
  /// Changes and commits per second.
  var rate = 0.0
  /// The rate from frame to frame, the newest at the end.
  var rates: [Double] = []
  /// Since the replay began, in nanoseconds.
  var elapsed: UInt64 = 0
  /// Nil in modes in which each producer has one.
  var inFlight: Int?

  /// How many actions the stores have applied.
  var actions: Int { authors.commits + files.changes }

  /// 0 to 1.
  var progress: Double {
    allCommits > 0 ? Double(authors.commits) / Double(allCommits) : 1
  }
}
