/// The churn of each top-level folder: lines added plus lines deleted.
struct FoldersModel: Equatable, Sendable {
  private(set) var churn: [Path: Int] = [:]

  mutating func take(_ change: Change) {
    let lines = change.lines.map { $0.added + $0.deleted } ?? 0
    churn[change.path.folder, default: 0] += lines
  }
}
