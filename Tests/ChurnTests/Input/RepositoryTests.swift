import Foundation
import Testing

@testable import churn

/// Repositories made on the fly, replayed by the whole program and compared with git.
@Suite(.enabled(if: TestRepository.gitIsInstalled), .serialized)
struct RepositoryTests {
  @Test func mergesRenamesDeletionsAndReturnsAreEqualToGits() async throws {
    let repository = try TestRepository()
    try repository.write("one\ntwo\n", to: "src/a")
    try repository.write("x\n", to: "b")
    try repository.commit("first")
    try repository.git("checkout", "--quiet", "-b", "side")
    try repository.write("side\n", to: "src/side")
    try repository.commit("side", author: "Ben", day: 2)
    try repository.git("checkout", "--quiet", "main")
    try repository.git("mv", "src/a", "src/renamed")
    try repository.commit("rename", day: 3)
    try repository.git("merge", "--quiet", "--no-ff", "-m", "merge", "side", day: 4)
    try repository.folder.remove("b")
    try repository.commit("delete", day: 5)
    try repository.commit("empty", day: 6)
    try repository.write("back\nagain\n", to: "b")
    try repository.commit("return", author: "Ben", day: 7)

    let run = await TestRun("--repo", repository.path, "--json")
    let json = try run.json

    #expect(run.code == .ok, "\(run.messages)")
    #expect(json["commits"] as? Int == 6)
    #expect(json["linesByFile"] as? [String: Int] == ["b": 2, "src/renamed": 2, "src/side": 1])
    #expect(
      json["takeoversByAuthor"] as? [String: Int]
        == ["Ada <ada@example.org>": 0, "Ben <ben@example.org>": 1])
    #expect(json["head"] as? String == (try head(of: repository)))
    let report = await TestRun("--repo", repository.path)
    #expect(report.output.hasPrefix("6 commits of the first-parent line, "))
    #expect(report.output.contains("3 text files, equal to git's; 0 that were binary not compared"))
  }

  @Test func binaryFilesAreLeftAside() async throws {
    let repository = try TestRepository()
    try repository.folder.write([0, 1, 2], to: "image")
    try repository.folder.write([0, 1, 2], to: "was-binary")
    try repository.write("text\n", to: "text")
    try repository.commit("first")
    try repository.write("text now\n", to: "was-binary")
    try repository.commit("second")

    let run = await TestRun("--repo", repository.path)

    #expect(run.code == .ok)
    #expect(run.output.contains("1 text file, equal to git's; 2 that were binary not compared"))
  }

  @Test func strangePathsAreReadRight() async throws {
    let repository = try TestRepository()
    let long = Array(repeating: String(repeating: "d", count: 200), count: 19)
      .joined(separator: "/")
    let names = [
      "tab\there", "line\nbreak", "3\t4\tlike lines", "\u{1}\(TestLog.hash(1))",
      ":100644 100644 0000000 1234567 M", "-", " ", "caf\u{E9}", "\(long)/file",
    ]
    for name in names { try repository.write("one\n", to: name) }
    try repository.commit("first")
    for name in names { try repository.write("one\ntwo\n", to: name) }
    try repository.commit("second", author: "Ben")

    let run = await TestRun("--repo", repository.path, "--json")

    #expect(run.code == .ok, "\(run.messages)")
    #expect(try run.json["rejectedRecords"] as? Int == 0)
    let lines = try run.json["linesByFile"] as? [String: Int]
    #expect(lines == Dictionary(uniqueKeysWithValues: names.map { ($0, 2) }))
  }

  @Test func aLimitIsComparedWithGitAtTheCommitReached() async throws {
    let repository = try TestRepository()
    for number in 1...5 {
      try repository.write(String(repeating: "line\n", count: number), to: "a")
      try repository.commit("\(number)", day: number)
    }

    let run = await TestRun("--repo", repository.path, "--limit", "2")
    let json = try await TestRun("--repo", repository.path, "--limit", "2", "--json").json

    #expect(run.code == .ok)
    #expect(run.output.contains("1 text file, equal to git's"))
    #expect(json["commits"] as? Int == 2)
    #expect(json["linesByFile"] as? [String: Int] == ["a": 2])
  }

  @Test func copiesGiveTheAnswersOfOne() async throws {
    let repository = try TestRepository()
    try repository.write("a\n", to: "dir/a")
    try repository.commit("first")
    try repository.write("b\n", to: "dir/a")
    try repository.commit("second", author: "Ben")

    var one = try await TestRun("--repo", repository.path, "--json").json
    var many = try await TestRun("--repo", repository.path, "--json", "--copies", "7").json
    let actions = (many["runs"] as? [[String: Any]])?.map { $0["actions"] as? Int }
    one["runs"] = nil
    many["runs"] = nil

    #expect(NSDictionary(dictionary: one) == NSDictionary(dictionary: many))
    #expect(actions?.allSatisfy { $0 == 28 } == true)
  }

  @Test func settingsOfTheUserMakeNoDifference() async throws {
    let repository = try TestRepository()
    try repository.write("a\n", to: "dir/a")
    try repository.write("b\n", to: "b")
    try repository.commit("first")
    for (name, value) in [
      ("log.showSignature", "true"), ("diff.relative", "true"), ("diff.renames", "copies"),
      ("color.ui", "always"), ("diff.noprefix", "true"), ("log.date", "iso"),
    ] {
      try repository.git("config", name, value)
    }

    let run = await TestRun("--repo", "\(repository.path)/dir")

    #expect(run.code == .ok, "\(run.messages)")
    #expect(run.output.contains("2 text files, equal to git's"))
  }

  private func head(of repository: TestRepository) throws -> String {
    try repository.git("rev-parse", "HEAD").trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
