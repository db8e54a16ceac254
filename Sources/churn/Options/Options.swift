/// What the command line asks for.
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
  var producers = 1
  var copies = 1
  var limit: Int?
  var printsJSON = false
  var logsActions = false
  var showsHelp = false
}
