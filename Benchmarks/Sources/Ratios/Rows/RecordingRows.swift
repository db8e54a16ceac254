import BenchmarkSupport
import DispatchStore

/// What a recorder adds to a dispatch, and an undo history to a commit.
enum RecordingRows {
  static let all = [recorder] + TrackedTable.Commit.allCases.map(undo)

  /// A thread dispatches in a loop, and a recorder of 10,000 entries notes each dispatch and its commit.
  ///
  /// The floor: a middleware in its place that appends the ends of runs to an array under a lock, which is what somebody
  /// writes who wants to know what happened.
  private static let recorder = Row(
    "`.sync`, a recorder", floor: "a middleware that appends under a lock", bound: .times(3)
  ) { rounds in
    let (plain, recorded) = (Fixture(PlainReducer()), Fixture(PlainReducer()))
    plain.dispatcher.register(middleware: AppendingMiddleware())
    recorded.dispatcher.register(middleware: DispatchRecorder(limit: 10_000))
    return Rounds.alternate(rounds, count: 20_000) { count in
      for index in 0..<count { plain.dispatcher.dispatch(action: Add(index), mode: .sync) }
    } subject: { count in
      for index in 0..<count { recorded.dispatcher.dispatch(action: Add(index), mode: .sync) }
    }
  }

  /// A thread changes one of 100,000 rows after the other, with a history of 1,000 steps.
  ///
  /// The floor: the same without a history.
  private static func undo(_ commit: TrackedTable.Commit) -> Row {
    Row(
      "\(commit.rawValue) to 100,000 rows with undo", floor: "without undo", bound: .times(1.5)
    ) { rounds in
      let (plain, undone) = (TrackedTable(), TrackedTable())
      return withExtendedLifetime(UndoHistory(of: undone.store, limit: 1_000)) {
        Rounds.alternate(rounds, count: 5_000) {
          plain.change($0, commit)
        } subject: {
          undone.change($0, commit)
        }
      }
    }
  }
}
