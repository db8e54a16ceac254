import DispatchStore

/// The changes and commits of each author.
struct AuthorsModel: Equatable, Sendable {
  /// One author.
  struct Author: Equatable, Sendable {
    var commits = 0
    var added = 0
    var deleted = 0
    /// Changes of a path whose previous change was by another author.
    var takeovers = 0
  }

  private(set) var authors: [ByteString: Author] = [:]
  /// The answers, for what observes them; kept only where they are followed, so that nothing else pays for it.
  private(set) var answers: TrackedDictionary<ByteString, Author> = [:]
  private let isFollowed: Bool

  init(isFollowed: Bool = false) {
    self.isFollowed = isFollowed
  }

  /// Of all authors.
  var commits: Int { authors.values.reduce(0) { $0 + $1.commits } }

  /// Applies a change.
  ///
  /// `FilesModel.isTakeover` decides whether it took a path over.
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
