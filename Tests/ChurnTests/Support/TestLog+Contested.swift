import DispatchStoreTesting

@testable import churn

extension TestLog {
  /// Commits in which a few authors change, delete and bring back a few paths, over and over: nearly
  /// every change follows another of the same path closely, so that a lost order shows.
  static func contested(commits: Int) -> TestLog {
    var random = SeededGenerator(seed: 7)
    var log = TestLog()
    for number in 1...commits {
      let author = "\("ABCD".randomElement(using: &random)!) <a@example.org>"
      let paths = ["top", "src/a", "src/b", "docs/a", "icon"].shuffled(using: &random)
      let entries = paths.prefix(.random(in: 1...4, using: &random)).map { path in
        path == "icon" ? Entry.binary(path) : textEntry(path, using: &random)
      }
      log.addCommit(
        number, author: author, time: "\(1_700_000_000 + number * 9_000)", entries: entries)
    }
    return log
  }

  private static func textEntry(_ path: String, using random: inout SeededGenerator) -> Entry {
    Entry(
      path, ["A", "M", "M", "D"].randomElement(using: &random)!,
      added: .random(in: 0...9, using: &random), deleted: .random(in: 0...9, using: &random))
  }
}
