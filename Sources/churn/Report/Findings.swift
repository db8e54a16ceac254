/// All results of the replays, ready to be printed.
struct Findings {
  let title: String
  let log: LogSummary
  /// The commit that HEAD names, if a repository was read.
  let head: String?
  /// The answers of one copy of the history; nil if not even the plain loop has come to its end.
  let answers: Answers?
  /// The verdicts, that of the plain loop first.
  let verdicts: [Verdict]
  /// The replay that was ended early.
  var cut: CutReplay?
}
