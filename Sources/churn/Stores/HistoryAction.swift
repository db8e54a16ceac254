import DispatchStore

/// Something that happened in a replayed history: the action type of the store that answers to all of it.
///
/// The actions are classes because a store answers to its action type and to the subclasses of that:
/// `authors` takes part in every action, the other stores only in those that concern them.
class HistoryAction: ActionType, @unchecked Sendable {
  // Unchecked because: it has no state, and the subclasses have none that changes.
}

/// That a path was changed: for `files`, `authors` and `folders`.
final class Changed: HistoryAction, CustomStringConvertible, @unchecked Sendable {
  // Unchecked because: it restates what it inherits.
  let change: Change

  init(_ change: Change) {
    self.change = change
  }

  /// What a log line says of it.
  var description: String {
    "Changed(\(change.path) \(change.kind) by \(change.author))"
  }
}

/// That a commit is complete: for `authors` and `days`.
final class Committed: HistoryAction, CustomStringConvertible, @unchecked Sendable {
  // Unchecked because: it restates what it inherits.
  let commit: Commit

  init(_ commit: Commit) {
    self.commit = commit
  }

  /// What a log line says of it.
  var description: String {
    "Committed(\(commit.day) by \(commit.author))"
  }
}
