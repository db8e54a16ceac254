import DispatchStore

/// The churn of each top-level folder: lines added plus lines deleted.
struct FoldersModel: ResumableModel, Equatable, Codable, Sendable {
  var churn: TrackedDictionary<Path, Int> = [:]
  var progress: SavedProgress?

  mutating func take(_ change: Change) {
    let lines = change.lines.map { $0.added + $0.deleted } ?? 0
    let folder = change.path.folder
    churn[folder, default: 0] += lines
  }
}
