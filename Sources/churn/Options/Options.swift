/// The options of the command line.
struct Options: Equatable, Sendable {
  /// The source of the history.
  enum Source: Equatable, Sendable {
    /// The repository of the current directory, or the saved history if there is none.
    case automatic
    case repository(String)
    case file(String)
    case standardInput
  }

  /// A file to which a part of a replay is written.
  struct Record: Equatable, Sendable {
    let path: String
    let form: RecordedReplay.Form
  }

  var source = Source.automatic
  var modes = Mode.allCases
  var inFlight = 1024
  var producers = 1
  var copies = 1
  var limit: Int?
  /// The number of times that everything is replayed; nil for the default.
  var rounds: Int?
  var printsJSON = false
  /// The file to which the answers are written while they change.
  var followed: String?
  /// The database in which the replay is saved.
  var persisted: String?
  /// The file to which the last actions of the replay are written.
  var recorded: Record?
  var showsHelp = false

  /// The number of times that everything is replayed.
  ///
  /// By default once if a part of each replay is written: its answers with `--follow`, its stores with `--persist`, its
  /// log with `--record`.
  var roundCount: Int {
    let isWritten = followed != nil || persisted != nil || recorded != nil
    return rounds ?? (isWritten ? 1 : 3)
  }
}
