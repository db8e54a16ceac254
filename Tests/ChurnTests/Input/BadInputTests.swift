import Foundation
import Testing

@testable import churn

/// The messages and exit codes for input that the program cannot replay.
@Suite(.serialized) struct BadInputTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func expectOneLine(_ run: TestRun, _ code: ExitCode, _ parts: String...) {
    #expect(run.code == code)
    #expect(run.output.isEmpty)
    #expect(run.messages.hasPrefix("churn: "))
    #expect(run.messages.count { $0 == "\n" } == 1)
    for part in parts {
      #expect(run.messages.contains(part), "\(run.messages)")
    }
  }

  @Test func helpIsPrintedAndNothingElse() async {
    let run = await TestRun("--help")

    #expect(run.code == .ok)
    #expect(run.output == Usage.text)
    #expect(run.messages.isEmpty)
  }

  @Test func aWrongOptionIsAnErrorOfUsage() async {
    await expectOneLine(TestRun("--nonsense"), .usage, "unknown option '--nonsense'")
  }

  @Test func aLogThatIsNotThereIsNoInput() async {
    await expectOneLine(
      TestRun("--input", "\(folder.path)/none"), .noInput, "/none", "No such file or directory")
  }

  @Test func aFolderIsNoLog() async {
    await expectOneLine(TestRun("--input", folder.path), .noInput, "Is a directory")
  }

  @Test func anEmptyLogIsAnErrorOfData() async throws {
    let path = try folder.write([], to: "empty.log")

    await expectOneLine(TestRun("--input", path), .dataError, path, "the log is empty")
  }

  @Test func aCutLogIsAnErrorOfDataWithItsPlace() async throws {
    let path = try folder.write(TestLog.small.bytes.dropLast(), to: "cut.log")

    await expectOneLine(
      TestRun("--input", path), .dataError, "ends at byte \(TestLog.small.bytes.count - 1)",
      "in commit \(TestLog.hash(3))")
  }

  @Test func somethingElseIsAnErrorOfData() async throws {
    let path = try folder.write("no log\n".utf8, to: "text")

    await expectOneLine(
      TestRun("--input", path), .dataError, "no log that churn can read", "byte 0")
  }

  @Test func malformedRecordsAreReportedAndTheRestIsAnswered() async throws {
    var log = TestLog.small
    log.fields[19] = Array("x\ty\tz".utf8)
    let path = try folder.write(log.bytes, to: "spoilt.log")

    let run = await TestRun("--input", path, "--json")

    #expect(run.code == .ok)
    #expect(try run.json["rejectedRecords"] as? Int == 1)
    #expect(try run.json["changes"] as? Int == 5)
    #expect(run.messages.contains("malformed record at byte"))
    #expect(run.messages.contains("in commit \(TestLog.hash(2))"))
  }

  @Test func aTemporaryFileThatCannotBeMadeIsReported() async throws {
    let path = try folder.write(TestLog.small.bytes, to: "log")

    await expectOneLine(
      TestRun("--input", path, temporaryDirectory: "\(folder.path)/none"), .cannotCreate,
      "cannot make a temporary file")
  }

  @Test func withoutGitTheSavedHistoryIsReplayed() async {
    let run = await TestRun(path: folder.path)

    #expect(run.code == .ok)
    #expect(run.messages.contains("git is not installed: replaying the history saved with"))
    #expect(run.output.contains("the saved history"))
  }

  @Test func aRepositoryCannotBeReadWithoutGit() async {
    await expectOneLine(
      TestRun("--repo", ".", path: folder.path), .unavailable, "git is not installed")
  }
}

/// The same for inputs that need git.
@Suite(.enabled(if: TestRepository.gitIsInstalled), .serialized)
struct BadRepositoryTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test func aFolderWithoutARepositoryIsNoInput() async {
    let run = await TestRun("--repo", folder.path)

    #expect(run.code == .noInput)
    #expect(run.messages.contains("is not a repository: git ended with exit code 128"))
  }

  @Test func outsideOfARepositoryTheSavedHistoryIsReplayed() async {
    let run = await TestRun(directory: folder.path)

    #expect(run.code == .ok)
    #expect(run.messages.contains("there is no repository here"))
    #expect(run.output.contains("the saved history"))
  }

  @Test(arguments: [true, false])
  func aRepositoryThatGitCannotReadIsNotReplacedByTheSavedHistory(hasConfig: Bool) async throws {
    let repository = try TestRepository()
    try repository.write("a\n", to: "a")
    try repository.commit("first")
    if hasConfig {
      try repository.write("no config", to: ".git/config")
    } else {
      try repository.folder.remove(".git/objects")
      try FileManager.default.createDirectory(
        atPath: "\(repository.path)/.git/objects", withIntermediateDirectories: false)
    }

    let run = await TestRun(directory: repository.path)

    #expect(run.code == (hasConfig ? .noInput : .unavailable))
    #expect(run.output.isEmpty)
    #expect(run.messages.contains(hasConfig ? "bad config" : "bad object"), "\(run.messages)")
  }

  @Test func aShallowCloneSaysSo() async throws {
    let repository = try TestRepository()
    for number in 1...2 {
      try repository.write("\(number)\n", to: "a")
      try repository.commit("\(number)")
    }
    try repository.git(
      "clone", "--quiet", "--depth", "1", "file://\(repository.path)", "\(folder.path)/clone")

    let run = await TestRun("--repo", "\(folder.path)/clone")

    #expect(run.code == .ok, "\(run.messages)")
    #expect(run.output.hasPrefix("1 commit of the first-parent line, "))
    #expect(run.output.contains(", a shallow clone\n"))
  }

  @Test func aRepositoryWithoutCommitsIsAnErrorOfData() async throws {
    let repository = try TestRepository()

    for run in await [TestRun("--repo", repository.path), TestRun(directory: repository.path)] {
      #expect(run.code == .dataError)
      #expect(run.messages == "churn: the repository '\(repository.path)' has no commits yet\n")
    }
  }

  @Test func theRepositoryOfTheCurrentFolderIsTheDefault() async throws {
    let repository = try TestRepository()
    try repository.write("a\n", to: "a")
    try repository.commit("first")

    let run = await TestRun(directory: repository.path)

    #expect(run.code == .ok)
    #expect(run.messages.isEmpty)
    #expect(
      run.output.contains(
        "1 commit of the first-parent line, 1 change of files: \(repository.path) at "))
  }

  /// Writes a git that runs a script for one of its commands.
  private func replaceGit(in command: String, _ body: String) throws {
    let git = try #require(Git(environment: TestRepository.environment)).executable
    let script = """
      #!/bin/sh
      case "$*" in *" \(command) "*)
      \(body);;
      *) exec '\(git)' "$@";;
      esac
      """
    let path = try folder.write(script.utf8, to: "git")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  @Test(arguments: [true, false])
  func aFailureOfGitInTheComparisonIsReportedWithTheAnswers(printsJSON: Bool) async throws {
    let repository = try TestRepository()
    try repository.write("a\n", to: "a")
    try repository.commit("first")
    try replaceGit(in: "diff", "echo 'fatal: no network' >&2; exit 3")

    let run = await TestRun(
      ["--repo", repository.path] + (printsJSON ? ["--json"] : []), path: folder.path)

    #expect(run.code == .unavailable)
    #expect(try printsJSON ? run.json["commits"] as? Int == 1 : run.output.contains("\nModes"))
    #expect(!run.output.contains("\nGit"))
    let message = "git diff of '\(repository.path)': git ended with exit code 3: fatal: no network"
    #expect(run.messages == "churn: \(message)\n")
  }

  @Test func aFailureOfGitInTheMiddleIsReportedWithoutAnswers() async throws {
    let repository = try TestRepository()
    try repository.write("a\n", to: "a")
    try repository.commit("first")
    try replaceGit(
      in: "log",
      """
      printf '\\0\\001\(TestLog.hash(1))\\0Ada\\00012\\0\\0\\001\(TestLog.hash(2))\\0Ada\\00013\\0'
      echo 'fatal: object is corrupt' >&2
      exit 3
      """)

    let run = await TestRun("--repo", repository.path, path: folder.path)

    #expect(run.code == .unavailable)
    #expect(run.output.isEmpty)
    #expect(
      run.messages == """
        churn: git log of '\(repository.path)': git ended with exit code 3: \
        fatal: object is corrupt; 100 bytes had come, up to commit \(TestLog.hash(1))

        """)
  }
}
