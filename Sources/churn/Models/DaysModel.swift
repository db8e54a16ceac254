import DispatchStore

/// The number of commits of each day.
struct DaysModel: ResumableModel, Equatable, Codable, Sendable {
  var commits: TrackedDictionary<Day, Int> = [:]
  var progress: SavedProgress?

  mutating func take(_ commit: Commit) {
    commits[commit.day, default: 0] += 1
  }
}
