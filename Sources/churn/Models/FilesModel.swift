import DispatchStore

/// The state of each path after the changes so far, also of deleted ones.
struct FilesModel: ResumableModel, Equatable, Codable, Sendable {
  /// The state of a path.
  struct File: Equatable, Codable, Sendable {
    /// The lines: added minus deleted.
    private(set) var lines = 0
    private(set) var lastAuthor: ByteString
    /// The author of the change before the last.
    ///
    /// The first author of a path counts as its previous one, too.
    private(set) var previousAuthor: ByteString
    /// Creations minus deletions.
    ///
    /// Above zero, the path exists.
    private(set) var existence = 0
    /// Whether any change of the path was binary: then its lines are not known.
    private(set) var wasBinary = false

    var exists: Bool { existence > 0 }
    var size: FileSize { wasBinary ? .binary : .lines(lines) }
    /// The answer; nil if the path does not exist.
    var answer: Answer? { exists ? Answer(size: size, lastAuthor: lastAuthor) : nil }

    init(firstAuthor: ByteString) {
      lastAuthor = firstAuthor
      previousAuthor = firstAuthor
    }

    mutating func take(_ change: Change) {
      previousAuthor = lastAuthor
      lastAuthor = change.author
      switch change.kind {
      case .created: existence += 1
      case .deleted: existence -= 1
      case .modified: break
      }
      if let count = change.lines {
        lines += count.added - count.deleted
      } else {
        wasBinary = true
      }
    }
  }

  /// The part of an existing path that belongs to the answers.
  struct Answer: Equatable, Sendable {
    let size: FileSize
    let lastAuthor: ByteString
  }

  var files: TrackedDictionary<Path, File> = [:]
  private(set) var changes = 0
  var progress: SavedProgress?

  mutating func take(_ change: Change) {
    changes += 1
    files[change.path, default: File(firstAuthor: change.author)].take(change)
  }

  /// Whether an applied change was by another author than the change before it.
  ///
  /// Looks at the last change of the path. If changes are dispatched without an order, that may be a later one, and
  /// the answer is then about that one.
  func isTakeover(_ change: Change) -> Bool {
    guard let file = files[change.path] else { return false }
    return file.previousAuthor != change.author
  }
}
