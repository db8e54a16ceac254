/// What a commit did to one path.
struct Change: Equatable, Sendable {
  /// What became of the path.
  enum Kind: Sendable { case created, deleted, modified }

  let path: Path
  let author: ByteString
  let kind: Kind
  /// Nil for a binary file.
  let lines: LineCount?
}

/// The lines that a change added to a file and deleted from it.
struct LineCount: Equatable, Sendable {
  let added: Int
  let deleted: Int
}

extension Change {
  /// The same change in another copy of the history.
  func inCopy(_ copy: Int) -> Change {
    Change(path: Path(path.name, copy: copy), author: author, kind: kind, lines: lines)
  }
}
