import DispatchStore

/// The changes and commits of each author.
struct AuthorsModel: Equatable, Sendable {
  /// The counts of an author.
  struct Author: Equatable, Sendable {
    var commits = 0
    var added = 0
    var deleted = 0
    /// Changes of a path whose previous change was by another author.
    var takeovers = 0
  }

  private(set) var authors: [ByteString: Author] = [:]
  /// The answers, for their observers; kept only if they are followed, so that other replays don't pay for them.
  private(set) var answers: TrackedDictionary<ByteString, Author> = [:]
  private let isFollowed: Bool

  init(isFollowed: Bool = false) {
    self.isFollowed = isFollowed
  }

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
    if isFollowed { answers[name] = authors[name] }
  }
}
