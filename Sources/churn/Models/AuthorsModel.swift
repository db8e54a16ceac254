import DispatchStore

/// The changes and commits of each author.
struct AuthorsModel: ResumableModel, Equatable, Codable, Sendable {
  /// The counts of an author.
  struct Author: Equatable, Codable, Sendable {
    var commits = 0
    var added = 0
    var deleted = 0
    /// Changes of a path whose previous change was by another author.
    var takeovers = 0
  }

  var authors: TrackedDictionary<ByteString, Author> = [:]
  var progress: SavedProgress?

  /// The commits of all authors.
  var commits: Int { authors.values.reduce(0) { $0 + $1.commits } }

  /// Applies a change.
  ///
  /// The caller gets `isTakeover` from `FilesModel.isTakeover`.
  mutating func take(_ change: Change, isTakeover: Bool) {
    update(change.author) { author in
      author.added += change.lines?.added ?? 0
      author.deleted += change.lines?.deleted ?? 0
      author.takeovers += isTakeover ? 1 : 0
    }
  }

  mutating func take(_ commit: Commit) {
    update(commit.author) { $0.commits += 1 }
  }

  private mutating func update(_ name: ByteString, _ body: (inout Author) -> Void) {
    body(&authors[name, default: Author()])
  }
}
