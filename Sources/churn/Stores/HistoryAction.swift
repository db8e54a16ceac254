import DispatchStore

/// An event of a replayed history: the action type of the store that responds to all of them.
///
/// The actions are classes because a store responds to its action type and to subclasses of that: `authors`
/// takes part in every action, the other stores only in those that concern them.
class HistoryAction: ActionType, @unchecked Sendable {
  // Unchecked because: it has no state, and the subclasses have none that changes.
}

/// A change of a path: for `files`, `authors` and `folders`.
final class Changed: HistoryAction, CustomStringConvertible, @unchecked Sendable {
  // Unchecked because: it restates the conformance of its superclass.
  let change: Change
  /// The event's number in the history, counted from 1.
  let number: Int

  init(_ change: Change, number: Int) {
    (self.change, self.number) = (change, number)
  }

  /// The text in log lines.
  var description: String {
    "Changed(\(change.path) \(change.kind) by \(change.author))"
  }
}

/// The end of a commit: for `authors` and `days`.
final class Committed: HistoryAction, CustomStringConvertible, @unchecked Sendable {
  // Unchecked because: it restates the conformance of its superclass.
  let commit: Commit
  /// The event's number in the history, counted from 1.
  let number: Int

  init(_ commit: Commit, number: Int) {
    (self.commit, self.number) = (commit, number)
  }

  /// The text in log lines.
  var description: String {
    "Committed(\(commit.day) by \(commit.author))"
  }
}
