import DispatchStore

/// The number of commits of each day.
struct DaysModel: Equatable, Sendable {
  private(set) var commits: [Day: Int] = [:]
  /// The answers, for their observers; kept only if they are followed, so that other replays don't pay for them.
  private(set) var answers: TrackedDictionary<Day, Int> = [:]
  private let isFollowed: Bool

  init(isFollowed: Bool = false) {
    self.isFollowed = isFollowed
  }

  mutating func take(_ commit: Commit) {
    commits[commit.day, default: 0] += 1
    if isFollowed { answers[commit.day] = commits[commit.day] }
  }
}
