/// The options of the command line.
struct Options: Equatable, Sendable {
  /// Where the history comes from.
  enum Source: Equatable, Sendable {
    /// The repository of the current directory, or the saved history where there is none.
    case automatic
    case repository(String)
    case file(String)
    case standardInput
  }

  var source = Source.automatic
  var modes = Mode.allCases
  var inFlight = 1024
  /// How many actions the library's own limit lets be in flight; nil where figures are measured.
  var bound: Int?
  /// In seconds from the start; nil for none.
  var deadline: Double?
  var producers = 1
  var copies = 1
  var limit: Int?
  /// How often everything is replayed; nil for the default.
  var rounds: Int?
  var printsJSON = false
  var logsActions = false
  /// Whether a board shows the stores while they change.
  var watches = false
  /// The file that the answers are written to while they change.
  var followed: String?
  var showsHelp = false

  /// How often everything is replayed; by default once where something of each replay is written: its actions with
  /// `--log`, its answers with `--follow`.
  var roundCount: Int { rounds ?? (logsActions || followed != nil ? 1 : 3) }
}
