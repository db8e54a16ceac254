/// A commit's change of a path.
struct Change: Equatable, Sendable {
  /// The effect on the path.
  enum Kind: Sendable { case created, deleted, modified }

  let path: Path
  let author: ByteString
  let kind: Kind
  /// The lines; nil for a binary file.
  let lines: LineCount?
}

/// The lines that a change added to a file and deleted from it.
struct LineCount: Equatable, Sendable {
  let added: Int
  let deleted: Int
}

extension Change {
  /// Returns this change in another copy of the history.
  func inCopy(_ copy: Int) -> Change {
    Change(path: Path(path.name, copy: copy), author: author, kind: kind, lines: lines)
  }
}
