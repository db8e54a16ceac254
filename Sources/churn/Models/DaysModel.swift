/// The number of commits of each day.
struct DaysModel: Equatable, Sendable {
  private(set) var commits: [Day: Int] = [:]

  mutating func take(_ commit: Commit) {
    commits[commit.day, default: 0] += 1
  }
}
