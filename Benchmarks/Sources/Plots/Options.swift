import BenchmarkSupport

/// The options of the command line.
struct Options: Sendable, Equatable {
  static let help = """
    usage: plots [--quick] [--output DIR]

    Measures, in every mode, the latency against the load and the throughput against the number of
    producers; then programs with many stores, lanes or tasks, beside what a user would write instead.
    Writes a plot for each to DIR/benchmarks/ and the tables to DIR/Benchmarks.md, between its two
    comments 'plots: begin' and 'plots: end'. Takes two minutes. Exit code: 0, 64 for a wrong option,
    74 if a file can't be read or written.

      --quick       fewer and shorter rounds, half a minute, to see that it works
      --output DIR  the folder; 'docs' by default, in the current folder
      --help        print this
    """

  var isQuick = false
  var folder = "docs"
  var showsHelp = false

  /// Reads the arguments, the program's own name not among them.
  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      switch (String(parts[0]), parts.count > 1) {
      case ("--quick", false): isQuick = true
      case ("--help", false): showsHelp = true
      case ("--output", let isAttached):
        guard let value = isAttached ? String(parts[1]) : rest.popFirst(), !value.isEmpty else {
          throw UsageError("'--output' needs a folder")
        }
        folder = value
      default: throw UsageError("unknown option '\(argument)'")
      }
    }
  }

  /// How long to measure.
  var effort: Effort { isQuick ? .quick : .full }

  /// The command that repeats this, in the repository's folder.
  var command: String {
    "swift run -c release --package-path Benchmarks plots" + (isQuick ? " --quick" : "")
  }
}
