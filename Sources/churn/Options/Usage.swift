/// The text that `--help` prints.
enum Usage {
  static let text = """
    churn replays the history of a git repository through a dispatcher, in each of its modes, and says
    how big each file is now, who touched it last, who took over from whom and where the churn is.
    It replays the first-parent line: a merge is one commit, of its author, with all that it brings in,
    and a renamed file is deleted and created.

    Usage: churn [options]

      --repo PATH       the history of this repository; the default is the one of the current folder,
                        or, where there is none, a small history saved with the program
      --input FILE      a saved log, or - for standard input
      --mode MODE       \(modes) or all (default: all)
      --in-flight N     at most N actions unfinished at a time (default: \(defaults.inFlight)); the p50 to p99.9 of
                        the report have the wait behind them
      --producers N     threads that dispatch, in the modes async and lanes, or tasks that send, in
                        structured (default: 1)
      --copies N        N copies of the history side by side, each under a folder of its own
      --limit N         the first N commits only
      --rounds N        replays everything N times, the modes by turns, and shows medians and spreads
                        (default: \(defaults.roundCount); 1 with --follow or --record)
      --json            the answers and the modes' figures as JSON
      --follow FILE     writes the answers to FILE while they change: JSON, a line for each author, file,
                        folder and day that has changed; applied in order, the lines of a mode give its
                        answers. Each replay of a mode begins with a line that names it
      --record FILE     writes the last \(RecordedReplay.limit) actions of the replay, with what each has changed: as a page
                        for a browser (.html), as JSON lines (.jsonl) or as a trace for Perfetto (.json). In
                        one mode (default: lanes), once
      --persist FILE    keeps the stores in this SQLite database. Run churn again after a kill, and the
                        replay goes on where it was. In the mode serial (the default) or sync, once; needs
                        a build with --traits SQLite
      --help            this text

    To save a log:

      \(LogCommand.shellLine) > history.log

    Ctrl-C or SIGTERM during a replay, as by 'timeout 60 churn': nothing more is dispatched, what is in
    flight ends, and the report says how far the replay had come. A second Ctrl-C ends the program at once.

    Exit codes are those of sysexits.h: 64 usage, 65 a log that is empty, cut or none, 66 no such
    input, 69 git is missing or failed, or churn was built without SQLite, 70 a figure that differs, 73
    and 74 a temporary file, the one to follow or the database that cannot be made or written; and 130
    after Ctrl-C, 143 after SIGTERM.

    """

  private static let defaults = Options()
  private static let modes = Mode.allCases.map(\.rawValue).joined(separator: ", ")
}
