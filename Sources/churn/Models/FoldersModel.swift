import DispatchStore

/// The churn of each top-level folder: lines added plus lines deleted.
struct FoldersModel: Equatable, Sendable {
  private(set) var churn: [Path: Int] = [:]
  /// The answers, for their observers; kept only if they are followed, so that other replays don't pay for them.
  private(set) var answers: TrackedDictionary<Path, Int> = [:]
  private let isFollowed: Bool

  init(isFollowed: Bool = false) {
    self.isFollowed = isFollowed
  }

  mutating func take(_ change: Change) {
    let lines = change.lines.map { $0.added + $0.deleted } ?? 0
    let folder = change.path.folder
    churn[folder, default: 0] += lines
    if isFollowed { answers[folder] = churn[folder] }
  }
}
