/// All results of the program, ready to be printed.
struct Findings {
  let title: String
  let log: LogSummary
  /// The commit that HEAD names, where a repository was read.
  let head: String?
  /// Of one copy of the history.
  let answers: Answers
  /// The plain loop first.
  let verdicts: [Verdict]
  /// Where a repository was read.
  let git: GitComparison?
}
