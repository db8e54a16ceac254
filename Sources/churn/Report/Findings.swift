/// All results of the program, ready to be printed.
struct Findings {
  let title: String
  let log: LogSummary
  /// The commit that HEAD names, where a repository was read.
  let head: String?
  /// Of one copy of the history; nil where not even the plain loop has come to its end.
  let answers: Answers?
  /// The plain loop first.
  let verdicts: [Verdict]
  /// The replay that was ended early.
  var cut: CutReplay?
  /// Where a repository was read.
  let git: GitComparison?
}
